package reference

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"hatchel/internal/lazyregexp"
)

// guideRow matches a line of a table of guides: a link, and when somebody wants the page.
var guideRow = lazyregexp.New(`(?m)^(?:\| |- )\[([^\]]+)\]\(([^)#]+\.md)\)(?: \| |: )(.+?)(?: \|)?$`)

const summary = "Hatchel turns a directory of .hcl files into a live MCP server: each file declares tools, which are " +
	"HTTP requests, SQL statements, programs, files or tools of other MCP servers."

// LLMs returns the files llms.txt and llms-full.txt (llmstxt.org) of a directory with the documentation: what its
// README.md lists, with a sentence for each page, and all of these pages in one file.
func LLMs(docs fs.FS) (index, full string, err error) {
	home, err := fs.ReadFile(docs, "README.md")
	if err != nil {
		return "", "", err
	}
	index = "# Hatchel\n\n> " + summary + "\n"
	tutorial, err := fs.ReadFile(docs, "tutorial.md")
	if err != nil {
		return "", "", err
	}
	full = index + "\n" + strings.TrimSpace(string(tutorial)) + "\n"
	index += "\n## Begin\n\n- [Tutorial](tutorial.md): from a PostgreSQL database to a protected server under a name\n"
	for section := range strings.SplitSeq(string(home), "\n## ") {
		rows := guideRow.FindAllStringSubmatch(section, -1)
		title, _, _ := strings.Cut(section, "\n")
		if len(rows) == 0 || strings.HasPrefix(title, "#") {
			continue
		}
		index += "\n## " + title + "\n\n"
		for _, row := range rows {
			index += fmt.Sprintf("- [%s](%s): %s\n", row[1], row[2], row[3])
			page, err := fs.ReadFile(docs, row[2])
			if err != nil {
				return "", "", err
			}
			full += "\n" + strings.TrimSpace(string(page)) + "\n"
		}
	}
	pages, err := fs.Glob(docs, "reference/*.md")
	if err != nil {
		return "", "", err
	}
	index += "\n## Reference\n\n"
	for _, name := range pages {
		page, err := fs.ReadFile(docs, name)
		if err != nil {
			return "", "", err
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(page), "# "), "\n")
		if path.Base(name) != "README.md" {
			index += fmt.Sprintf("- [%s](%s)\n", title, name)
			full += "\n" + strings.TrimSpace(string(page)) + "\n"
		}
	}
	return index, full, nil
}
