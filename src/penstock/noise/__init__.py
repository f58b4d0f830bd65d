"""Where randomness comes from: exact and secure, simulated, or scripted. Three types, never mixed up."""

from penstock.noise.base import LARGEST_SCALE, Noise, cube_sd, laplace_sd
from penstock.noise.scripted import ScriptedNoise
from penstock.noise.secure import SecureNoise
from penstock.noise.simulation import SimulationNoise

__all__ = ["LARGEST_SCALE", "Noise", "ScriptedNoise", "SecureNoise", "SimulationNoise", "cube_sd", "laplace_sd"]
