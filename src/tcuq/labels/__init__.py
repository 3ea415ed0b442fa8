"""What true classes that come late tell: accuracy, which steps to label, and whether labels are in order."""
