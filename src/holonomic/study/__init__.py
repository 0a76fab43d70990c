"""Studies: experiments over methods and step sizes."""
