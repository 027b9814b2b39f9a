package definition

import "hatchel/hcl/schema"

// Change is one difference between a pinned definition and the one that a server sends today.
type Change struct {
	// Member is the member of the definition: title, description, inputSchema, outputSchema, annotations or
	// execution.
	Member string

	// Text says what changed, for who operates the server: `description`, `input "assignee" added`. It has no text of
	// the server but names and short values, with hidden characters made visible.
	Text string

	// Compatible says that on_drift = "compatible" serves the tool all the same, as far as this change goes.
	Compatible bool
}

// Compare returns the differences of a definition that a server sent from the pinned one, in the order of the file's
// members; none if they are equal. Sent has the types of the arguments that blocks can send, one for each block that
// calls the tool: what the server's new schema accepts is judged by them.
func Compare(pin, found Definition, sent []*schema.Type) (changes []Change) {
	if pin.Equal(found) {
		return nil
	}
	was, is := pin.members(), found.members()
	for i, m := range was {
		if m.text != is[i].text {
			changes = append(changes, compareMember(m.name, pin, found, sent)...)
		}
	}
	return changes
}

// compareMember compares a member that differs.
func compareMember(name string, _, _ Definition, _ []*schema.Type) []Change {
	switch name {
	case "title", "description":
		return []Change{{Member: name, Text: name, Compatible: true}}
	}
	return []Change{{Member: name, Text: name}}
}
