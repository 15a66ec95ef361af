"""What all pages share: templates with one base and one style, and drawings in the inks of the page."""
