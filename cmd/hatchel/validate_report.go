package main

import (
	"fmt"
	"io"

	"hatchel/cmd/hatchel/console"
	"hatchel/hcl/diag"
)

// validateReport is the output of validate --json. The paths of the diagnostics are relative to the current directory.
type validateReport struct {
	Valid            bool             `json:"valid"`
	Tools            int              `json:"tools"`
	Prompts          int              `json:"prompts"`
	Resources        int              `json:"resources"`
	Skills           int              `json:"skills,omitempty"`
	Refused          int              `json:"refused,omitempty"` // of these, for what the server lacks
	DisabledWebhooks []string         `json:"webhooks_off,omitempty"`
	Errors           int              `json:"errors"`
	Warnings         int              `json:"warnings"`
	Diagnostics      diag.Diagnostics `json:"diagnostics"`

	Folder     string            `json:"-"` // as a person has named it
	IgnoreFile string            `json:"-"` // the name of its file of ignored files; empty if it has none
	Version    string            `json:"-"` // of the program
	Sources    map[string][]byte `json:"-"`
}

// Write writes the report in a format: text, json, github or sarif.
func (r *validateReport) Write(out io.Writer, format string) error {
	switch format {
	case "github":
		return writeAnnotations(out, findingsOf(r.Diagnostics))
	case "sarif":
		return writeSARIF(out, r.Version, nil, findingsOf(r.Diagnostics))
	case "json":
		r.Errors, r.Warnings = r.Diagnostics.Counts()
		r.Diagnostics = append(diag.Diagnostics{}, r.Diagnostics...)
		return console.WriteJSON(out, r)
	}
	return r.writeText(out)
}

func (r *validateReport) writeText(out io.Writer) error {
	name := console.FolderName(r.Folder)
	if err := r.Diagnostics.Print(out, r.Sources); err != nil || !r.Valid {
		return err
	}
	if len(r.Diagnostics) > 0 {
		fmt.Fprintln(out)
	}
	if len(r.Sources) == 0 {
		note := ""
		if r.IgnoreFile != "" {
			note = ", except for those that " + r.IgnoreFile + " may exclude"
		}
		fmt.Fprintf(out, "%s: no .hcl files found%s\n", name, note)
		return nil
	}
	count := console.CountCapabilities(r.Tools, r.Prompts, r.Resources, r.Skills)
	if r.Refused > 0 {
		count += fmt.Sprintf(", %d of them refused", r.Refused)
	}
	fmt.Fprintf(out, "%s: %s, %s\n", name, count, console.CountDiagnostics(r.Diagnostics.Counts()))
	for _, webhook := range r.DisabledWebhooks {
		fmt.Fprintf(out, "webhook %q is disabled, because its url is null\n", webhook)
	}
	return nil
}
