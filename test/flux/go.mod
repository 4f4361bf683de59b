// The flux command, for `make test-flux`. It embeds files that are not in its module,
// so hack/flux.sh builds it from a copy, where they need not be the right ones; and
// by its own go.mod, whose replacements count there.
module github.com/pintle-dev/pintle/test/flux

go 1.26.0

require github.com/fluxcd/flux2/v2 v2.9.5
