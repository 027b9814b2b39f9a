package main

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// skillReference is a file in references, which is made of parts of the documentation.
type skillReference struct {
	name, title string
	pages       []pagePart
}

// pagePart is a page of the documentation, or some of its sections.
type pagePart struct {
	page     string
	sections []string // the headings of its sections, as they are written; nil for the whole page
}

var skillReferences = []skillReference{
	{"language", "Language", []pagePart{{"expressions.md", []string{"Two languages, one rule",
		"Variables, secrets and locals", "Types", "Templates", "Checks", "Steps", "Results", "Failures"}}}},
	{"http", "HTTP APIs", []pagePart{{"http.md", []string{"Connect and authenticate", "Read", "Send", "Pages", "Retry",
		"Files"}}}},
	{"databases", "Databases", []pagePart{{"databases.md", []string{"Connect", "Query", "Change", "Values"}}}},
	{"programs", "Programs and the sandbox", []pagePart{{"programs.md", nil}}},
	{"files", "Files and CSV", []pagePart{{"files.md", nil}, {"reference/backends.md", []string{"`csv`", "`file`"}}}},
	{"testing", "Testing", []pagePart{{"testing.md", nil}}},
	{"backends", "Arguments of http, sql and shell", []pagePart{{"reference/backends.md", []string{
		"`http [\"connection\"]`", "`sql \"connection\"`", "`shell [\"connection\"]`"}}}},
	{"functions", "Functions, types and names", []pagePart{{"reference/functions.md", nil}, {"reference/types.md", nil},
		{"reference/names.md", nil}}},
}

var (
	pageLink = regexp.MustCompile(`!?\[([^\]]*)\]\(([^)]*)\)`)
	section  = regexp.MustCompile(`(?m)^## (.*)$`)
)

// makeReferences returns the files in references by name, made of the directory of the documentation.
func makeReferences(docs fs.FS) (map[string]string, error) {
	files := map[string]string{}
	for _, r := range skillReferences {
		text := "# " + r.title + "\n"
		for _, p := range r.pages {
			src, err := fs.ReadFile(docs, p.page)
			if err != nil {
				return nil, err
			}
			found, err := p.cut(string(src))
			if err != nil {
				return nil, err
			}
			text += "\n" + strings.TrimSpace(found) + "\n"
		}
		files[r.name+".md"] = pageLink.ReplaceAllStringFunc(text, relink)
	}
	return files, nil
}

// cut returns the sections of a page, without its title.
func (p *pagePart) cut(src string) (string, error) {
	_, body, _ := strings.Cut(src, "\n")
	at := sectionsOf(body)
	var out strings.Builder
	if p.sections == nil {
		return body, nil
	}
	for _, wanted := range p.sections {
		i := slices.IndexFunc(at, func(h [2]int) bool { return body[h[0]+len("## "):h[1]] == wanted })
		if i < 0 {
			return "", fmt.Errorf("%s has no section %q", p.page, wanted)
		}
		end := len(body)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		out.WriteString(body[at[i][0]:end])
	}
	return out.String(), nil
}

// sectionsOf returns where the headings of sections are, without those in fences.
func sectionsOf(body string) (found [][2]int) {
	for _, m := range section.FindAllStringIndex(body, -1) {
		if strings.Count(body[:m[0]], "\n```")%2 == 0 {
			found = append(found, [2]int{m[0], m[1]})
		}
	}
	return found
}

// relink keeps a link to another reference, and leaves the text of a link to what the skill does not have.
func relink(link string) string {
	m := pageLink.FindStringSubmatch(link)
	page, _, _ := strings.Cut(m[2], "#")
	for _, r := range skillReferences {
		if slices.ContainsFunc(r.pages, func(p pagePart) bool { return strings.HasSuffix(p.page, page) && page != "" }) {
			return "[" + m[1] + "](" + r.name + ".md)"
		}
	}
	if strings.Contains(m[2], "://") {
		return link
	}
	return m[1]
}
