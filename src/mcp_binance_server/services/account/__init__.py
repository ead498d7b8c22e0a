"""What an account holds and has ordered."""
