"""What is judged of an order before anything is sent: its rules, its terms, its limits. Pure."""
