"""What one rank takes of a checkpoint: modules of a model, cut and joined into parameters."""

import contextlib
import copy
import re
from dataclasses import dataclass, field

from .parameter import Parameter, columns, matrix, padded, rows, stacked, whole
from .quantization import Plain, scheme_of
from .safetensors import size_in_bytes


def share(what, total, ranks, rank):
    """(first, count) of the equal part of `rank`."""
    if total % ranks:
        raise ValueError(f"{what}: {total} does not divide by {ranks}")
    return rank * (total // ranks), total // ranks


class Linear:
    """A linear module as stored: by suffix, its tensor and how many rows and columns of the weight an element is for."""

    def __init__(self, module, tensors, height):
        self.module, self.tensors, self.height = module, tensors, height

    def rows(self, first, count, *, ragged):
        """By suffix, what belongs to these rows. Blocks are never cut; `ragged`: the last may be short."""
        made = {}
        for suffix, (tensor, (unit, _)) in self.tensors.items():
            if first % unit or (count % unit and not ragged):
                raise ValueError(f"{self.module}: rows {first} to {first + count} cut a block of {unit}")
            made[suffix] = rows(tensor, first // unit, -(-count // unit))
        return made

    def columns(self, first, count, *, ragged):
        made = {}
        for suffix, (tensor, (_, unit)) in self.tensors.items():
            if suffix == "bias":  # whole on every rank; the engine adds it on one
                made[suffix] = rows(tensor, 0, tensor.shape[0])
                continue
            if unit is None:
                made[suffix] = columns(tensor, 0, tensor.shape[1])
                continue
            if first % unit or (count % unit and not ragged):
                raise ValueError(f"{self.module}: columns {first} to {first + count} cut a block of {unit}")
            made[suffix] = columns(tensor, first // unit, -(-count // unit))
        return made


def joined(target, pieces, separator=".", matrices=None):
    """Parameters whose rows are those of the pieces, each a dict of parts by suffix."""
    if len({tuple(piece) for piece in pieces}) != 1:
        raise ValueError(f"{target}: some of its pieces are quantised and some are not")
    for suffix in pieces[0]:
        yield stacked(f"{target}{separator}{suffix}", [piece[suffix] for piece in pieces], matrices)


@dataclass
class Layout:
    """What is not equal: layers of each pipeline stage; sizes of groups of ranks, by name; by layer or for "all", the
    experts in the slots of each block of ranks."""

    stages: list = field(default_factory=list)
    groups: dict = field(default_factory=dict)
    experts: dict = field(default_factory=dict)


def of_group(name):
    """What a function yields is shared by this group of ranks."""

    def wrap(function):
        def inner(mine, *arguments, **options):
            with mine.group(name):
                yield from function(mine, *arguments, **options)

        return inner

    return wrap


class Rank:
    """One rank's view of a checkpoint. What is taken is ticked off; `finish` complains about the rest."""

    def __init__(self, checkpoint, tp, ep, rank, finished, layout=None):
        if tp % ep:
            raise ValueError(f"tp {tp} does not divide by ep {ep}")
        self.config, self.tensors, self.prefix = checkpoint.config, dict(checkpoint.tensors), None
        self.tp, self.rank, self.finished = tp, rank, finished  # finished: with what the last steps derive
        self.ep, self.ep_rank = ep, rank // (tp // ep)
        layout = layout or Layout()
        self.tables = layout.experts
        self.places = {name: (size, rank % size) for name, size in layout.groups.items()}
        self.expert_tp, self.expert_rank = self.places.get("experts", (tp // ep, rank % (tp // ep)))

    @contextlib.contextmanager
    def group(self, name):
        """Within it, tp and rank are those of a group."""
        before = self.tp, self.rank
        self.tp, self.rank = self.places.get(name, before)
        yield
        self.tp, self.rank = before

    def experts_in_slots(self, source, experts):
        """Equal blocks, the first ones with one more where they do not divide; or what a table says."""
        layer = re.search(r"\blayers\.(\d+)\.", source)
        table = self.tables.get(layer[1] if layer else None, self.tables.get("all"))
        if table:
            if len(table) != self.ep or {n for block in table for n in block} != set(range(experts)) or not all(table):
                raise ValueError(f"{source}: a table that is not for {experts} experts on {self.ep} blocks")
            return table[self.ep_rank]
        each, more = divmod(experts, self.ep)
        first = self.ep_rank * each + min(self.ep_rank, more)
        if not each:
            raise ValueError(f"{source}: {experts} experts for {self.ep} blocks")
        return list(range(first, first + each + (self.ep_rank < more)))

    def take(self, name, *shape, dtype=None):
        tensor = self.tensors.pop(name)
        if tensor.shape != shape or (dtype and tensor.dtype not in ((dtype,) if isinstance(dtype, str) else dtype)):
            raise ValueError(f"{name} is {tensor.dtype} {tensor.shape}, not {dtype or ''} {shape}")
        return tensor

    def whole(self, name, *shape, target=None):
        return whole(target or name, self.take(name, *shape))

    def vocabulary(self, name, *shape, target=None):
        """Rows padded with zeros to a multiple of 64, then split."""
        tensor = self.take(name, *shape)
        padded = -(-shape[0] // 64) * 64
        with self.group("vocab"):
            first, count = share("padded vocabulary", padded, self.tp, self.rank)
        stored = max(0, min(shape[0], first + count) - first)
        part = rows(tensor, first if stored else 0, stored)
        total = size_in_bytes(tensor.dtype, (count, *shape[1:]))
        from_file = size_in_bytes(tensor.dtype, part.shape)
        return Parameter(
            target or name, tensor.dtype, (count, *shape[1:]), lambda: part.read() + bytes(total - from_file), from_file
        )

    def linear(self, module, out_features, in_features, bias=False, plain=False):
        """`plain`: no scheme quantises it."""
        tensors = {}
        scheme = Plain() if plain else scheme_of(self.config)
        for suffix, dtype, shape, block in scheme.tensors(module, out_features, in_features, self.prefix):
            tensor = self.take(f"{module}.{suffix}", *shape, dtype=dtype)
            if block:
                tensors[suffix] = tensor, block
        if bias:
            tensors["bias"] = self.take(f"{module}.bias", out_features), (1, 1)
        return Linear(module, tensors, out_features)

    def replicated(self, target, *linears):
        """Whole on every rank; several lie one after the other, and only the last may end in a short block."""
        pieces = [linear.rows(0, linear.height, ragged=linear is linears[-1]) for linear in linears]
        return joined(target, pieces)

    def column_parallel(self, target, linear, first, count):
        return joined(target, [linear.rows(first, count, ragged=self.tp == 1)])

    def merged(self, target, *pieces):
        """Pieces are (linear, first row, number of rows), and each is whole blocks."""
        return joined(target, [linear.rows(first, count, ragged=False) for linear, first, count in pieces])

    def row_parallel(self, target, linear, first, count):
        return joined(target, [linear.columns(first, count, ragged=self.tp == 1)])

    @of_group("dense")
    def gated_mlp(self, source, target, hidden, intermediate, bias=False):
        part = share("intermediate size", intermediate, self.tp, self.rank)
        gate, up = (self.linear(f"{source}.{which}_proj", intermediate, hidden, bias) for which in ("gate", "up"))
        yield from self.merged(f"{target}.gate_up_proj", (gate, *part), (up, *part))
        down = self.linear(f"{source}.down_proj", hidden, intermediate, bias)
        yield from self.row_parallel(f"{target}.down_proj", down, *part)

    def unequal_mlp(self, module, hidden, width):
        """Gate, up and down with biases, whose width the ranks share rounded up; what the last ones lack is zeros."""
        each = -(-width // self.tp)
        first = min(width, self.rank * each)
        count = min(each, width - first)
        gate, up = (self.linear(f"{module}.{which}_proj", width, hidden, True, plain=True) for which in ("gate", "up"))
        for suffix, shape in (("weight", (each, hidden)), ("bias", (each,))):
            parts = [padded(rows(piece.tensors[suffix][0], first, count), *shape) for piece in (gate, up)]
            yield stacked(f"{module}.gate_up_proj.{suffix}", parts)
        down = self.linear(f"{module}.down_proj", hidden, width, True, plain=True)
        mine = padded(columns(down.tensors["weight"][0], first, count), hidden, each)
        yield stacked(f"{module}.down_proj.weight", [mine])
        yield whole(f"{module}.down_proj.bias", down.tensors["bias"][0])

    def experts(self, source, target, experts, hidden, intermediate, names=("gate_proj", "up_proj", "down_proj")):
        """Each block of ranks has some of the experts; one that has several slots there is read once.

        In the file each expert has three matrices, or all have two tensors: gates above ups, and the ways down.
        """
        mine = self.experts_in_slots(source, experts)
        first, count = part = share("intermediate size of an expert", intermediate, self.expert_tp, self.expert_rank)
        w13, w2 = [], []
        if source + ".gate_up_proj" in self.tensors:
            gate_up = self.take(source + ".gate_up_proj", experts, 2 * intermediate, hidden)
            down = self.take(source + ".down_proj", experts, hidden, intermediate)
            for n in mine:
                both = matrix(gate_up, n)
                w13 += [{"weight": rows(both, at + first, count)} for at in (0, intermediate)]
                w2.append({"weight": columns(matrix(down, n), first, count)})
        else:
            *ups, way_down = names
            up = [[self.linear(f"{source}.{n}.{which}", intermediate, hidden) for which in ups] for n in range(experts)]
            down = [self.linear(f"{source}.{n}.{way_down}", hidden, intermediate) for n in range(experts)]
            for n in mine:
                w13 += [linear.rows(*part, ragged=False) for linear in up[n]]
                w2.append(down[n].columns(*part, ragged=self.expert_tp == 1))
        for name, matrices in ((".w13", w13), (".w2", w2)):
            for parameter in joined(target + name, matrices, "_", len(mine)):
                parameter.from_file = parameter.from_file // len(mine) * len(set(mine))
                yield parameter

    def inside(self, prefix, config):
        """The same rank's view of a model inside of this one, whose tensors have the prefix; they are taken from this."""
        view = copy.copy(self)
        view.config, view.prefix = dict(config), (prefix,) if "quantization_config" in config else prefix
        if "quantization_config" in self.config:
            view.config["quantization_config"], view.prefix = self.config["quantization_config"], prefix
        names = [name for name in self.tensors if name.startswith(prefix)]
        view.tensors = {name.removeprefix(prefix): self.tensors.pop(name) for name in names}
        return view

    def skip(self, pattern):
        """Ticks off every tensor in whose name the regular expression occurs."""
        self.tensors = {name: tensor for name, tensor in self.tensors.items() if not re.search(pattern, name)}

    def finish(self):
        self.skip(r"\.rotary_emb\.(inv_freq|cos_cached|sin_cached)$")
        if self.tensors:
            raise ValueError(f"tensors that the architecture does not know: {list(self.tensors)}")
