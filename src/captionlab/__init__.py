"""captionlab: train, finetune, probe and evaluate image captioners in one workflow."""
