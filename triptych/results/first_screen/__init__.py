"""What the first screen says: verdict, order of systems, next step; and slices of the items. No drawing."""
