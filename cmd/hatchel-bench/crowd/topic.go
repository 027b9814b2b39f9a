package crowd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// topic is something that changes and that clients are told of: a list of a toolset, or a document. Its revision is how often it has changed.
type topic struct {
	toolset string
	method  string // of the notification
	uri     string // of a document
	read    request

	mu   sync.Mutex
	made []time.Time // when each revision was made; guarded by mu
}

// revise accounts for a change that is about to be made.
func (t *topic) revise(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made = append(t.made, at)
}

func (t *topic) revision() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.made)
}

// since are the moments in which the revisions after one were made, up to another.
func (t *topic) since(known, read int) []time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]time.Time(nil), t.made[known:min(read, len(t.made))]...)
}

var revisionText = regexp.MustCompile(`Revision (\d{4})`)

// reading is the revision that a client reads: the sum of all that are named in what it got, each of which only grows.
func reading(got []byte) (revision int) {
	for _, m := range revisionText.FindAllSubmatch(got, -1) {
		n, _ := strconv.Atoi(string(m[1]))
		revision += n
	}
	return revision
}

// lists are the kinds of lists, by their notification.
var lists = []struct{ kind, method, wish string }{
	{"tools", "notifications/tools/list_changed", "toolsListChanged"},
	{"prompts", "notifications/prompts/list_changed", "promptsListChanged"},
	{"resources", "notifications/resources/list_changed", "resourcesListChanged"},
}

const updated = "notifications/resources/updated"

// change is one way in which the served folder changes.
type change struct {
	name   string
	kind   string // of the delay that it is accounted under
	topics []*topic
	file   string // in which the revision stands
	call   string // or the tool that makes the next one
}

// The kinds of delay.
const (
	edited = "of an edit"
	looked = "of a file that is looked at"
	asked  = "of a query that is repeated"
)

const pageCount = 20 // documents that a template makes

// world is the folder of a load, what can change in it, and who hears of what.
type world struct {
	folder  string
	topics  map[string]*topic // by toolset, kind or URI
	changes []*change
	pages   []*change
}

func newWorld(folder string) *world {
	w := &world{folder: folder, topics: make(map[string]*topic)}
	for _, toolset := range []string{"", "office"} {
		for _, l := range lists {
			w.topics[toolset+" "+l.kind] = &topic{toolset: toolset, method: l.method, read: request{method: l.kind + "/list"}}
		}
		for _, uri := range append(pageURIs(), "load://notice", "load://board") {
			w.topics[toolset+" "+uri] = &topic{toolset: toolset, method: updated, uri: uri,
				read: request{method: "resources/read", name: uri, params: fmt.Sprintf(`"uri":%q`, uri)}}
		}
	}
	both := func(what string) []*topic { return []*topic{w.topics[" "+what], w.topics["office "+what]} }
	w.changes = []*change{
		{name: "a tool", kind: edited, topics: both("tools"), file: "load_office.hcl"},
		{name: "a text", kind: edited, topics: both("load://notice"), file: "load_notice.hcl"},
		{name: "a query", kind: asked, topics: both("load://board"), call: "post"},
		{name: "a tool outside of the toolset", kind: edited, topics: both("tools")[:1], file: "load_back.hcl"},
		{name: "a prompt", kind: edited, topics: both("prompts"), file: "load_prompts.hcl"},
		{name: "a resource", kind: edited, topics: both("resources")[:1], file: "load_resources.hcl"},
	}
	for i, uri := range pageURIs() {
		w.pages = append(w.pages, &change{name: "a page", kind: looked, topics: both(uri), file: fmt.Sprintf("pages/%d.txt", i)})
	}
	return w
}

// nth returns the nth change: two of everything, then a page.
func (w *world) nth(n int) *change {
	if n%3 == 2 {
		return w.pages[n/3%len(w.pages)]
	}
	return w.changes[(n-n/3)%len(w.changes)]
}

func pageURIs() (uris []string) {
	for i := range pageCount {
		uris = append(uris, fmt.Sprintf("load://page/%d", i))
	}
	return uris
}

// make makes the next revision.
func (w *world) make(ctx context.Context, c *change, through *client) error {
	if c.call != "" {
		c.revise()
		_, err := through.must(request{method: "tools/call", name: c.call, params: fmt.Sprintf(`"name":%q,"arguments":{}`, c.call)})
		return err
	}
	name := filepath.Join(w.folder, c.file)
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	next := revisionText.ReplaceAllString(string(src), fmt.Sprintf("Revision %04d", reading(src)+1))
	if err := os.WriteFile(name+"~", []byte(next), 0o644); err != nil {
		return err
	}
	c.revise()
	return os.Rename(name+"~", name)
}

func (c *change) revise() {
	now := time.Now()
	for _, t := range c.topics {
		t.revise(now)
	}
}
