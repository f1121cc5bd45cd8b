"""The bytes of sketches and quantile states, checked before anything opens them."""
