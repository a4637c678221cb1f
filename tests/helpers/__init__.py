"""What several test files share. Importable as `helpers`; fixtures in here are registered in conftest.py."""
