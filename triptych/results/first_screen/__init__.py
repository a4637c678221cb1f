"""Content of the results' first screen: verdict, order of systems, next step; also slices of items. No drawing."""
