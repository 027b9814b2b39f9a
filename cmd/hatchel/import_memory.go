package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"hatchel/cmd/hatchel/importer"
)

// importMemory is what an import remembers of its command line, so that --update needs no flags. Flags that permit
// something, such as to read a host, are no part of it: the directory may be somebody else's.
type importMemory struct {
	Kind    string   // the first word of Result.Source
	Selects []string // flags that select; one of them on the command line replaces all that are remembered
	Maps    []string // flags that say how something is mapped
}

// The memories of the kinds of imports.
var (
	openAPIMemory = importMemory{"openapi", []string{"tag", "path", "op", "method", "not-tag", "not-path", "not-op",
		"read-only", "deprecated", "all"}, []string{"name", "flatten", "depth", "max-schema", "max-tokens", "returns",
		"no-paginate", "split", "rename"}}
	schemaMemory  = importMemory{"schema", []string{"table", "all"}, []string{"writes"}}
	toolboxMemory = importMemory{Kind: "toolbox"}
)

// unclearError says that it is not clear which import is meant: what the directory has, and what to do.
type unclearError string

func (e unclearError) Error() string { return string(e) }

// Flags returns the flags that are set and remembered.
func (m importMemory) Flags(flags *pflag.FlagSet) map[string][]string {
	set := map[string][]string{}
	for _, name := range slices.Concat(m.Selects, m.Maps) {
		f := flags.Lookup(name)
		if !f.Changed {
			continue
		}
		set[name] = []string{f.Value.String()}
		if list, ok := f.Value.(interface{ GetSlice() []string }); ok {
			set[name] = list.GetSlice()
		}
	}
	return set
}

// Recall sets the flags of an earlier import that the command line does not set, and returns them as they would be
// written.
func (m importMemory) Recall(flags *pflag.FlagSet, earlier importer.Earlier) (string, error) {
	isSet := func(name string) bool { return flags.Changed(name) }
	selects := slices.ContainsFunc(m.Selects, isSet)
	var words []string
	for _, name := range slices.Concat(m.Selects, m.Maps) {
		values := earlier.Flags[name]
		if len(values) == 0 || isSet(name) || selects && slices.Contains(m.Selects, name) {
			continue
		}
		f := flags.Lookup(name)
		err := f.Value.Set(values[0])
		if list, ok := f.Value.(interface{ Replace([]string) error }); ok {
			err = list.Replace(values)
		}
		if err != nil {
			return "", fmt.Errorf("%s: the flag --%s of the import %q cannot be used again: %w",
				importer.ManifestFile, name, earlier.Source, err)
		}
		f.Changed = true
		words = append(words, "--"+name+"="+strings.Join(values, ","))
	}
	return strings.Join(words, " "), nil
}

// Find returns the import of a directory that --update repeats: the one that a name or a source says, or the only one.
// It returns nil if it is not known yet, as for a document at another place. The error is an UnclearError, or that of
// reading the manifest.
func (m importMemory) Find(dir, source, from string) (*importer.Earlier, error) {
	all, err := importer.ReadEarlier(dir, m.Kind)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range all {
		if source != "" && e.Source == source || source == "" && from != "" &&
			(e.From == from || m.Kind == schemaMemory.Kind && strings.HasSuffix(e.From, "."+from)) {
			return &e, nil
		}
		names = append(names, e.Source)
	}
	switch {
	case source != "" || from != "":
		return nil, nil
	case len(all) == 0:
		return nil, unclearError("no import of the kind " + m.Kind + " to update: name what to import")
	case len(all) > 1:
		note := ""
		switch m.Kind {
		case openAPIMemory.Kind:
			note = ", as in hatchel import openapi --update --name " + strings.TrimPrefix(all[0].Source, m.Kind+" ")
		case schemaMemory.Kind:
			note = ", as in hatchel import schema --update " + all[0].From
		}
		return nil, unclearError("several imports, so name what to import: " + strings.Join(names, ", ") + note)
	}
	return &all[0], nil
}

// relativeSource returns a file as an import remembers it: relative to the directory, with slashes.
func relativeSource(dir, file string) string {
	from, err := filepath.Abs(dir)
	to, err2 := filepath.Abs(file)
	if err = cmp.Or(err, err2); err != nil {
		return ""
	}
	rel, err := filepath.Rel(from, to)
	if err != nil {
		return ""
	}
	return filepath.ToSlash(rel)
}

// isURL reports whether a source is no file.
func isURL(source string) bool {
	return strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://")
}

// IsFile reports whether a source is a file, and neither a URL nor a connection.
func (m importMemory) IsFile(source string) bool {
	return m.Kind != schemaMemory.Kind && !isURL(source)
}
