"""What chart-img.com knows, allows and draws."""
