package soak

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

//go:embed testdata
var testdata embed.FS

// toolsets are the endpoints of the folder.
var toolsets = []string{"", "office"}

const pageCount = 20 // documents of the resource template load://page/{number}

// folder is the configuration directory of a run. Every list and document in it holds the text
// "Revision NNNN", and a change raises one of these numbers.
type folder struct {
	path    string
	topics  map[string]*topic // by topicKey
	changes []*change
}

// topic is a list or a document of one endpoint that clients can subscribe to. Its revision is the
// number of its changes.
type topic struct {
	toolset string
	name    string // "tools", "prompts", "resources", or the URI of a document

	wake    chan struct{} // receives when listeners begin to wait
	mu      sync.Mutex
	changed []time.Time // when each revision was made; guarded by mu
	waiting []*listener // to be told the revision that is read next; guarded by mu
}

// change is one way to change the folder: a file whose revision is raised, or a tool that raises
// it.
type change struct {
	kind   string // of the notification delay it is reported under
	topics []*topic
	file   string
	tool   string
}

const (
	configEdit   = "an edited configuration"
	pageEdit     = "an edited document"
	refreshQuery = "a query that is refreshed"
)

func topicKey(toolset, name string) string { return toolset + " " + name }

// newFolder describes the folder that writeFolder has written to path.
func newFolder(path string) *folder {
	f := &folder{path: path, topics: map[string]*topic{}}
	for _, toolset := range toolsets {
		for _, name := range append(pageURIs(), "load://notice", "load://board", "tools", "prompts", "resources") {
			f.topics[topicKey(toolset, name)] = &topic{toolset: toolset, name: name, wake: make(chan struct{}, 1)}
		}
	}
	everywhere := func(name string) []*topic {
		return []*topic{f.topics[topicKey("", name)], f.topics[topicKey("office", name)]}
	}
	shared := []*change{
		{kind: configEdit, topics: everywhere("tools"), file: "load_office.hcl"},
		{kind: configEdit, topics: everywhere("load://notice"), file: "load_notice.hcl"},
		{kind: refreshQuery, topics: everywhere("load://board"), tool: "post"},
		{kind: configEdit, topics: everywhere("tools")[:1], file: "load_back.hcl"},
		{kind: configEdit, topics: everywhere("prompts"), file: "load_prompts.hcl"},
		{kind: configEdit, topics: everywhere("resources")[:1], file: "load_resources.hcl"},
	}
	for i, uri := range pageURIs() {
		page := &change{kind: pageEdit, topics: everywhere(uri), file: fmt.Sprintf("pages/%d.txt", i)}
		f.changes = append(f.changes, shared[2*i%len(shared)], shared[(2*i+1)%len(shared)], page)
	}
	return f
}

func pageURIs() (uris []string) {
	for i := range pageCount {
		uris = append(uris, fmt.Sprintf("load://page/%d", i))
	}
	return uris
}

// writeFolder writes the folder, and over it a copy of the folder at extra unless that is empty.
func writeFolder(path, extra string) error {
	files, err := fs.Sub(testdata, "testdata/load")
	if err != nil {
		return err
	}
	if err := os.CopyFS(path, files); err != nil {
		return err
	}
	page, err := os.ReadFile(filepath.Join(path, "pages", "0.txt"))
	for i := 1; err == nil && i < pageCount; i++ {
		err = os.WriteFile(filepath.Join(path, "pages", fmt.Sprintf("%d.txt", i)), page, 0o644)
	}
	if err != nil || extra == "" {
		return err
	}
	return os.CopyFS(path, os.DirFS(extra))
}

// apply makes the next revision of a change.
func (f *folder) apply(ctx context.Context, c *change, session *mcp.ClientSession) error {
	if c.tool != "" {
		c.record()
		_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: c.tool})
		return err
	}
	name := filepath.Join(f.path, c.file)
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	next := revisionText.ReplaceAllString(string(src), fmt.Sprintf("Revision %04d", sumRevisions(string(src))+1))
	if err := os.WriteFile(name+"~", []byte(next), 0o644); err != nil {
		return err
	}
	c.record()
	return os.Rename(name+"~", name)
}

func (c *change) record() {
	now := time.Now()
	for _, t := range c.topics {
		t.mu.Lock()
		t.changed = append(t.changed, now)
		t.mu.Unlock()
	}
}

// revision returns the number of changes, and when the last one was made.
func (t *topic) revision() (n int, last time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n = len(t.changed); n > 0 {
		last = t.changed[n-1]
	}
	return n, last
}

// read returns the revision that a client sees.
func (t *topic) read(ctx context.Context, session *mcp.ClientSession) (revision int, err error) {
	var result any
	switch t.name {
	case "tools":
		result, err = session.ListTools(ctx, nil)
	case "prompts":
		result, err = session.ListPrompts(ctx, nil)
	case "resources":
		result, err = session.ListResources(ctx, nil)
	default:
		result, err = session.ReadResource(ctx, &mcp.ReadResourceParams{URI: t.name})
	}
	if err != nil {
		return 0, err
	}
	return sumRevisions(encode(result)), nil
}

var revisionText = regexp.MustCompile(`Revision (\d{4})`)

// sumRevisions adds all revisions named in a text. Each of them only grows, so the sum is a
// revision too.
func sumRevisions(text string) (sum int) {
	for _, m := range revisionText.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		sum += n
	}
	return sum
}
