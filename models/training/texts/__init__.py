"""The texts that trainings are made of: phrasings by writers, slips, made-up worlds, near relations."""
