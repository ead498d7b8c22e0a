"""Client sessions: limited in number, ended by an idle timeout, and cleaned up completely."""
