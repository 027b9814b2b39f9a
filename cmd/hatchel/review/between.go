package review

import (
	"fmt"

	"hatchel/hcl"
	"hatchel/hcl/surface"
)

// Between returns the differences that an import makes in the directory dir. load returns the configuration before the
// import (0) and after it (1). If one of them does not load, the error says which, and calls the directory name.
func Between(
	dir, name string, load func(side int) (*hcl.Config, hcl.Diagnostics), surfaceOf func(*hcl.Config) *surface.Surface,
) (*Report, error) {
	var sides [2]*surface.Surface
	for i, when := range []string{"did not load before", "does not load after"} {
		config, diags := load(i)
		if diags.HasErrors() {
			return nil, fmt.Errorf("%s %s the import: see hatchel validate, and then hatchel diff", name, when)
		}
		sides[i] = surfaceOf(config)
	}
	d := surface.Compare(sides[0], sides[1])
	return &Report{Diff: d, Old: "the earlier import", New: "this one", OldDir: dir, NewDir: dir,
		Threshold: surface.Breaking + 1, HasVersion: d.Old != "0.0.0"}, nil
}
