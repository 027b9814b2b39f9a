// Package definitiontest makes files of definitions for tests.
package definitiontest

import (
	"testing"

	"hatchel/adapters/mcp/definition"
)

// File returns the file of definitions, each of which is written as a server lists it.
func File(t testing.TB, definitions ...string) definition.File {
	t.Helper()
	var all []definition.Definition
	for _, text := range definitions {
		d, err := definition.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	file, err := definition.New(all)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Text returns the text of File.
func Text(t testing.TB, definitions ...string) string {
	t.Helper()
	return string(File(t, definitions...).Append(nil))
}
