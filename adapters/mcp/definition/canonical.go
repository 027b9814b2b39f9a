package definition

import (
	"crypto/sha256"
	"encoding/hex"

	"hatchel/hcl/value"
)

// digest is the SHA-256 digest of a canonical definition.
type digest [sha256.Size]byte

const digestPrefix = "sha256:"

func digestOf(text []byte) digest { return sha256.Sum256(text) }

func (d digest) String() string { return digestPrefix + hex.EncodeToString(d[:]) }

// member is a member of a definition's object: its name, and its canonical text, or "" if it is absent.
type member struct{ name, text string }

// members returns the members of the definition's object in the order of the file.
func (d Definition) members() []member {
	text := func(s string) string {
		if s == "" {
			return ""
		}
		return string(value.AppendCanonicalString(nil, s))
	}
	execution := ""
	if d.TaskSupport != "" {
		execution = `{"taskSupport":"` + d.TaskSupport + `"}`
	}
	return []member{
		{"name", text(d.Name)}, {"title", text(d.Title)}, {"description", text(d.Description)},
		{"inputSchema", d.InputSchema}, {"outputSchema", d.OutputSchema}, {"annotations", d.Annotations},
		{"execution", execution},
	}
}

// canonicalOrder are the places in members in the order of the names, which is that of RFC 8785.
var canonicalOrder = [...]int{5, 2, 6, 3, 0, 4, 1}

// appendCanonical appends the definition's object as canonical JSON.
func (d Definition) appendCanonical(dst []byte) []byte {
	all := d.members()
	dst = append(dst, '{')
	first := true
	for _, i := range canonicalOrder {
		m := all[i]
		if m.text == "" {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(append(dst, '"'), m.name...), `":`...)
		dst = append(dst, m.text...)
	}
	return append(dst, '}')
}
