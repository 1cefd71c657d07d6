"""What is done with graphs of people as a whole: results, and the two folders of a release."""
