// Package sarif writes findings as a SARIF 2.1.0 log, the format that code scanning services read.
package sarif

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/internal/printable"
)

// Level is how much a finding matters.
type Level string

const (
	Error   Level = "error"
	Warning Level = "warning"
	Note    Level = "note"
)

// LevelOf returns the level of a diagnostic.
func LevelOf(s diag.Severity) Level {
	if s == diag.Warning {
		return Warning
	}
	return Error
}

// Rule describes the findings that have its id.
type Rule struct {
	ID   string
	Text string // one sentence
}

// Finding is one result. The file of its subject is a path that is absolute or relative to the root of the
// repository; the zero Range means that the finding has no place.
type Finding struct {
	Rule    string // the id of a rule
	Level   Level
	Message string
	Subject diag.Range
}

// Tool is the program that found something.
type Tool struct {
	Name, Version string
	Rules         []Rule // may lack rules that findings name
}

const schemaURI = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// Write writes a log of one run, in the order of the findings. It writes the same bytes for the same arguments.
func Write(w io.Writer, tool Tool, findings []Finding) error {
	driver := driver{Name: tool.Name, Version: tool.Version}
	index := map[string]int{}
	for _, r := range tool.Rules {
		index[r.ID] = len(driver.Rules)
		driver.Rules = append(driver.Rules, rule{ID: r.ID, Short: &message{r.Text}})
	}
	results := make([]result, len(findings))
	for i, f := range findings {
		if _, ok := index[f.Rule]; !ok {
			index[f.Rule] = len(driver.Rules)
			driver.Rules = append(driver.Rules, rule{ID: f.Rule})
		}
		text := withoutLinks(printable.Reveal(f.Message, "\n\t"))
		results[i] = result{f.Rule, index[f.Rule], f.Level, message{text}, locate(f.Subject)}
	}
	out := log{schemaURI, "2.1.0", []run{{toolOfRun{driver}, "unicodeCodePoints", results}}}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// locate returns the place of a finding, or none.
func locate(r diag.Range) []location {
	if r.File == "" {
		return nil
	}
	name := filepath.ToSlash(r.File)
	uri := url.URL{Path: name}
	if filepath.IsAbs(r.File) {
		uri.Scheme = "file"
	}
	place := physicalLocation{Artifact: artifact{uri.String()}}
	if r.Start.Line > 0 {
		place.Region = &region{r.Start.Line, r.Start.Column, r.End.Line, r.End.Column}
	}
	return []location{{place}}
}

type log struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []run  `json:"runs"`
}

type run struct {
	Tool       toolOfRun `json:"tool"`
	ColumnKind string    `json:"columnKind"`
	Results    []result  `json:"results"` // an empty list means that the run found nothing
}

type toolOfRun struct {
	Driver driver `json:"driver"`
}

type driver struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Rules   []rule `json:"rules,omitempty"`
}

type rule struct {
	ID    string   `json:"id"`
	Short *message `json:"shortDescription,omitempty"`
}

type message struct {
	Text string `json:"text"`
}

type result struct {
	Rule      string     `json:"ruleId"`
	Index     int        `json:"ruleIndex"`
	Level     Level      `json:"level"`
	Message   message    `json:"message"`
	Locations []location `json:"locations,omitempty"`
}

type location struct {
	Physical physicalLocation `json:"physicalLocation"`
}

type physicalLocation struct {
	Artifact artifact `json:"artifactLocation"`
	Region   *region  `json:"region,omitempty"`
}

type artifact struct {
	URI string `json:"uri"`
}

type region struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
	EndLine     int `json:"endLine,omitempty"`
	EndColumn   int `json:"endColumn,omitempty"`
}

// withoutLinks returns a text in which no part is an embedded link, as in "[text](address)", which viewers show as one.
func withoutLinks(text string) string { return strings.ReplaceAll(text, "](", `\](`) }
