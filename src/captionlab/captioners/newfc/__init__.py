"""The FC captioner with a maxout LSTM (Rennie et al. 2017 in the form that Ma et al. 2022 train): image first."""
