package shelltext

import (
	"maps"
	"path"
	"slices"
	"strings"

	"hatchel/hcl/template"
)

// fileWriters are programs with files among their words that they write, besides those that run code or that
// commandSpecs does not have.
var fileWriters = template.WordSet("curl wget openssl xxd split rsync scp")

// unpackers write files whose names are in their input.
var unpackers = template.WordSet("tar bsdtar cpio pax patch ar")

// noteMentioned records the files that a program may write with a value of the call: those that its words
// mention. A command that cats or counts a file does not write it.
func (a *taintWalk) noteMentioned(l simpleCommand, name string) {
	t := maxTaint(l.words).max(l.stdin)
	if t.level == trusted {
		return
	}
	if unpackers[name] && l.stdin.level > trusted {
		a.noteWritten(unknownText, l.stdin)
	}
	_, spec, known := lookup(name)
	if known && spec.operand != codeFirst && spec.operand != fileFirst && !fileWriters[name] || readers[name] {
		return
	}
	programs := programFiles(l.words)
	for _, w := range l.words[1:] {
		isCode := strings.ContainsAny(w.text, " ('\"") // which may write files, and is none
		isProgram := func(p word) bool { return p.node == w.node && !isCode }
		switch {
		case w.level > trusted || slices.ContainsFunc(programs, isProgram):
		case w.constant:
			a.join(a.mentioned, w.text, t.computed())
		default:
			for _, text := range w.texts {
				a.join(a.mentioned, text, t.computed())
			}
		}
	}
}

// mentions returns the taint of the programs whose words mention the name of a file.
func (a *taintWalk) mentions(texts []string) (t taint) {
	for _, text := range texts {
		name := path.Base(optionArgument(text))
		if !isConstant(name) {
			continue
		}
		for _, mention := range slices.Sorted(maps.Keys(a.mentioned)) {
			if mentionsName(mention, name) {
				t = t.max(a.mentioned[mention])
			}
		}
	}
	return t
}

// mentionsPattern returns the taint of the programs whose words mention a name that matches a pattern, such as that of
// a file that find has found.
func (a *taintWalk) mentionsPattern(texts []string) (t taint) {
	for _, text := range texts {
		pattern := path.Base(optionArgument(text))
		if isConstant(pattern) {
			continue
		}
		matches := func(name string) bool { return mayBeEqual(pattern, name) }
		for _, mention := range slices.Sorted(maps.Keys(a.mentioned)) {
			if slices.ContainsFunc(strings.FieldsFunc(mention, isNoNameByte), matches) {
				t = t.max(a.mentioned[mention])
			}
		}
	}
	return t
}

func isNoNameByte(r rune) bool { return !strings.ContainsRune(nameBytes, r) }

const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

// mentionsName reports whether a text contains a name of a file that is no part of a longer one.
func mentionsName(text, name string) bool {
	for rest := text; ; {
		i := strings.Index(rest, name)
		if i < 0 {
			return false
		}
		end := i + len(name)
		if (i == 0 || strings.IndexByte(nameBytes, rest[i-1]) < 0 || i > 1 && rest[0] == '-' && i == 2) &&
			(end == len(rest) || strings.IndexByte(nameBytes, rest[end]) < 0) {
			return true
		}
		rest = rest[i+1:]
	}
}
