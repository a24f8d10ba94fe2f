"""What stands where T5 has its encoder: MiniLM's states through one linear map."""

from jaxtyping import Float
from torch import Tensor, nn

from models.encoder.minilm import WIDTH


class Projection(nn.Module):
    """A linear map from the encoder's width to the decoder's; it stands where T5 has its encoder."""

    main_input_name = "input_ids"  # an encoder needs it for transformers' generate

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, d_model, bias=False)
        nn.init.normal_(self.linear.weight, std=WIDTH**-0.5)

    def forward(self, states: Float[Tensor, "batch token width"]) -> Float[Tensor, "batch token d"]:
        bank_input: Tensor = self.linear(states)
        return bank_input
