"""Who is connected: at most so many, each until it has idled out, and nothing left of it afterwards."""
