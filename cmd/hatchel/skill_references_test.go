package main

import (
	"fmt"
	"io/fs"
	"path"
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
	sections []string // the headings of its sections, as they are written, "" for what is before them; nil for the whole page
}

var skillReferences = []skillReference{
	{"language", "Language", []pagePart{{"expressions.md", []string{"Two languages, one rule",
		"Variables, secrets and locals", "Types", "Templates", "Checks", "Steps", "Results", "Failures"}}}},
	{"http", "HTTP APIs", []pagePart{{"http.md", []string{"Connect and authenticate", "Read", "Send", "Pages", "Retry",
		"Files"}}}},
	{"databases", "Databases", []pagePart{{"databases.md", []string{"Connect", "Query", "Change", "Values"}}}},
	{"answers", "Formats, pages and masks", []pagePart{{"answers.md", []string{"", "Formats", "Members that the caller chooses",
		"A maximum of tokens", "Pages"}}, {"masks.md", []string{"", "Which values", "What stands in place of a value",
		"What a masked value may not do"}}}},
	{"access", "Who may call what, and how often", []pagePart{{"access.md", []string{"Use the caller in a tool",
		"Decide with policies"}}, {"resources-and-prompts.md", []string{"Serve a subset"}},
		{"approvals.md", []string{"", "What the approver sees"}}, {"limits.md", []string{"", "Carry out a call once"}}}},
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
	texts := map[string]string{}
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
		texts[r.name] = text
	}
	files := map[string]string{}
	for name, text := range texts {
		files[name+".md"] = pageLink.ReplaceAllStringFunc(text, func(link string) string { return relink(link, texts) })
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
		if wanted == "" {
			out.WriteString(body[:at[0][0]])
			continue
		}
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

// relink keeps a link to a section of another reference, and leaves the text of a link to what the skill does not have.
// The texts are those of the references by name.
func relink(link string, texts map[string]string) string {
	m := pageLink.FindStringSubmatch(link)
	page, anchor, _ := strings.Cut(m[2], "#")
	for _, r := range skillReferences {
		has := slices.ContainsFunc(r.pages, func(p pagePart) bool { return p.page == page || path.Base(p.page) == path.Base(page) })
		if page != "" && has && (anchor == "" || hasHeading(texts[r.name], anchor)) {
			return "[" + m[1] + "](" + r.name + ".md)"
		}
	}
	if strings.Contains(m[2], "://") {
		return link
	}
	return m[1]
}

var (
	heading      = regexp.MustCompile(`(?m)^##+ (.*)$`)
	noPartOfSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// hasHeading reports whether a text has the heading to which a link with an anchor goes.
func hasHeading(text, anchor string) bool {
	return slices.ContainsFunc(heading.FindAllStringSubmatch(text, -1), func(m []string) bool {
		slug := noPartOfSlug.ReplaceAllString(strings.ToLower(m[1]), "")
		return strings.ReplaceAll(slug, " ", "-") == anchor
	})
}
