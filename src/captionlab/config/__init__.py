"""The typed config: one pydantic model for each section and each kind of plug-in.

The model of a block is the only place of its keys: their types, bounds, defaults, meanings and sources. The checks of a
config, `config/schema.json` and the tables of keys in `config/README.md` come from the models. Nothing here needs
torch.
"""
