"""SugarCrepe (Hsieh et al. 2023): captions of COCO, and hard negatives by a language model, in seven kinds."""
