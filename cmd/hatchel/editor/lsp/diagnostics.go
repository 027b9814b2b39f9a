package lsp

import (
	"encoding/json"

	"hatchel/cmd/hatchel/editor"
	"hatchel/hcl/diag"
)

// publish sends the diagnostics of every file for which they have changed: none for the files without mistakes, and
// none at all for a directory that is no configuration. Nil is one that is no longer looked at.
func (f *folder) publish(p *editor.Project) {
	now := map[string]publishParams{}
	if p != nil && p.Own {
		f.collect(p, now)
	}
	for _, uri := range diag.SortedNames(f.published) {
		if _, still := now[uri]; !still {
			f.server.notify("textDocument/publishDiagnostics", publishParams{URI: uri, Diagnostics: []diagnostic{}})
			delete(f.published, uri)
		}
	}
	for _, uri := range diag.SortedNames(now) {
		text, _ := json.Marshal(now[uri])
		if f.published[uri] != string(text) {
			f.published[uri] = string(text)
			f.server.notify("textDocument/publishDiagnostics", now[uri])
		}
	}
}

// collect gathers the diagnostics of a load by URI.
func (f *folder) collect(p *editor.Project, into map[string]publishParams) {
	open, t := f.openDocuments(), newTexts(p)
	v := f.server.viewOf(f)
	uris := map[string]string{}
	for _, d := range p.Diags {
		name := d.Subject.File
		if name == "" {
			continue // of the whole directory, which has no document
		}
		if uris[name] == "" {
			uris[name] = v.location(t, diag.Range{File: name}).URI
		}
		params := into[uris[name]]
		params.URI = uris[name]
		params.Diagnostics = append(params.Diagnostics, v.diagnostic(t, d))
		if doc := open[name]; doc != nil {
			params.Version = &doc.version
		}
		into[params.URI] = params
	}
}

// diagnostic converts one diagnostic of a load.
func (v *view) diagnostic(t *texts, d *diag.Diagnostic) diagnostic {
	out := diagnostic{Range: t.rangeOf(d.Subject), Severity: severityError, Code: d.Rule(), Source: "hatchel",
		Message: d.Summary + ": " + d.Text()}
	if d.Severity == diag.Warning {
		out.Severity = severityWarning
	}
	if d.Code == diag.Unused {
		out.Tags = []int{1} // unnecessary
	}
	if d.Related != (diag.Range{}) {
		out.Related = []relatedInformation{{v.location(t, d.Related), "the first one"}}
	}
	return out
}
