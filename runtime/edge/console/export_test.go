package console

import (
	"fmt"
	"maps"
	"slices"
	"time"

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

// CountAttempts returns how many of the wrong keys of addresses are tried in a minute.
func CountAttempts(addresses, keys int) (tried int) {
	var a attempts
	now := time.Now()
	for i := range addresses {
		for range keys {
			if _, ok := a.take(fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255), now); ok {
				tried++
			}
		}
	}
	return tried
}
