package console

import (
	"bytes"
	"html/template"
	"net/url"

	"hatchel/hcl"
	"hatchel/runtime/call"
	output "hatchel/runtime/stage/result"
)

// The page of a tool has at most maxPage bytes, besides what a person has entered, which is never cut. Its parts take
// their room one after the other: the form, the entries for clients, the commands, and the result of a call.
const (
	maxPage      = 256 << 10
	maxAround    = 56 << 10  // charts, calls, facts and what is around all pages
	maxFormBytes = 160 << 10 // of the fields; a longer form is JSON
	maxEntry     = 24 << 10
	maxCopied    = 12 << 10 // of the arguments in a command
)

// longText is a text of which a page shows the beginning.
type longText struct {
	Text string
	Rest string // where the whole text can be downloaded; empty if it is shown
}

// cut leaves the beginning of a text, which takes at most an eighth of the room of the page.
func (l *longText) cut(room int, address string) (left int) {
	end := fittingIn(min(maxEntry, room/8), l.Text)
	if end < len(l.Text) {
		l.Text, l.Rest = l.Text[:end], address
	}
	return room - sizeInPage(l.Text)
}

// renderForm renders the fields of a form with what was posted. A form that is too long for a page becomes JSON. One
// with sensitive inputs cannot, because these are not shown again.
func (d *tryData) renderForm(t *hcl.Tool, posted url.Values) error {
	if d.Form == nil {
		return nil
	}
	var fields bytes.Buffer
	if err := pages()["tool"].ExecuteTemplate(&fields, "fields", d.Form); err != nil {
		return err
	}
	switch {
	case fields.Len() <= maxFormBytes:
		d.Fields = template.HTML(fields.String())
	case len(posted) == 0:
		d.enterJSON("{}")
	case output.HasSensitive(t.Input):
		return errRows
	default:
		for _, f := range d.Mistakes() {
			for _, problem := range f.Problems {
				d.Problems = append(d.Problems, f.Path()+": "+problem)
			}
		}
		d.enterJSON(indentJSON(d.enteredArguments()))
	}
	return nil
}

// enterJSON has all arguments entered as JSON, because the form is too long for a page.
func (d *tryData) enterJSON(text string) { d.Form, d.Raw, d.typed, d.TooLong = nil, &text, text, true }

// layOut makes the parts around a form whose fields were rendered: the entries for clients and the commands.
func (c *Console) layOut(q *request, d *toolData, p *call.Program) {
	d.room = maxPage - maxAround
	if d.Try != nil {
		d.room -= len(d.Try.Fields)
	}
	d.room = d.Modern.cut(d.room, entryPath(d.Name)+"?revision=modern")
	if !d.SameInBothEras {
		d.room = d.Legacy.cut(d.room, entryPath(d.Name)+"?revision=legacy")
	}
	if d.Try == nil {
		return
	}
	c.addCommands(q, d.Try, p)
	for _, command := range d.Try.Commands {
		d.room -= sizeInPage(command.Text)
	}
}

func entryPath(tool string) string { return toolPath(tool) + "/entry" }

// entry sends the entry of a tool in tools/list, which can be too long for a page.
func (c *Console) entry(q *request) (*answer, error) {
	g, err := c.admit(q)
	if err != nil {
		return nil, err
	}
	data, err := c.newToolData(q, g)
	if err != nil {
		return nil, err
	}
	text := data.Modern.Text
	if q.URL.Query().Get("revision") == "legacy" {
		text = data.Legacy.Text
	}
	send(q, "entry.json", text)
	return nil, nil
}
