package console

import (
	"maps"
	"slices"

	"hatchel/hcl/schema"
)

// AssetNames returns the names of all assets.
func AssetNames() []string {
	files, _ := assets()
	return slices.Sorted(maps.Keys(files))
}

// RoundTrip returns the arguments of a form that arguments have filled in. It reports false for arguments that the
// fields cannot express.
func RoundTrip(input *schema.Type, arguments []byte) (back []byte, problems, ok bool) {
	posted, ok := fill(input, arguments)
	if !ok {
		return nil, false, false
	}
	form, _ := newForm(input, posted)
	back = form.arguments()
	return back, form.hasProblems(), true
}
