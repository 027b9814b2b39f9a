package console

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"strings"
	"sync"
	"time"

	"hatchel/runtime/edge/mcp"
)

// route is one line of the table of pages.
type route struct {
	pattern string
	may     permission // nil for a page without a session
	handle  func(*Console, *request) (*answer, error)
	live    string // kinds of events after which the page may have changed; empty for one that is not kept up to date
}

const (
	home       = "/console/"
	eventsPath = "/console/events"
)

// Kinds of events after which pages may have changed.
const (
	approvalKinds = "approval.requested approval.decided"
	callKinds     = "tool_call " + oneCallKinds
	toolKinds     = "tool_call tool_result reload " + approvalKinds
	oneCallKinds  = "tool_step tool_result " + approvalKinds
	taskKinds     = "task.finished tool_call tool_step " + approvalKinds
	reloadKinds   = "reload"
	stateKinds    = "reload connection upstream " + approvalKinds // calls are counted every few seconds
)

// routes are all pages and all that forms post to.
var routes = []route{
	{"GET " + signInPath, nil, (*Console).signInPage, ""},
	{"POST " + signInPath, nil, (*Console).signIn, ""},
	{"POST " + providerPath, nil, (*Console).beginSignIn, ""},
	{"GET " + callbackPath, nil, (*Console).serveCallback, ""},
	{"GET " + ticketPath, nil, (*Console).redeemTicket, ""},
	{"POST " + signOutPath, permitSignedIn, (*Console).signOut, ""},
	{"GET " + home, permitSignedIn, (*Console).missingPage, ""},
	{"GET /console/{$}", permitViewer, (*Console).overview, stateKinds},
	{"GET /console/tools", permitViewer, (*Console).tools, reloadKinds},
	{"GET /console/tools/{name}", permitViewer, (*Console).tool, toolKinds},
	{"GET /console/tools/{name}/entry", permitViewer, (*Console).entry, ""},
	{"GET /console/tools/{name}/view", permitCall, (*Console).viewApp, ""},
	{"POST /console/tools/{name}/plan", permitPlan, (*Console).plan, toolKinds},
	{"POST /console/tools/{name}/copy", permitPlan, (*Console).copyCall, toolKinds},
	{"POST /console/tools/{name}/call", permitCall, (*Console).call, toolKinds},
	{"GET /console/prompts", permitViewer, listDocuments("prompt"), ""},
	{"GET /console/prompts/{name}", permitViewer, showDocument("prompt"), ""},
	{"POST /console/prompts/{name}/plan", permitPlan, tryDocument("prompt", false), ""},
	{"POST /console/prompts/{name}/call", permitCall, tryDocument("prompt", true), ""},
	{"GET /console/resources", permitViewer, listDocuments("resource"), ""},
	{"GET /console/resources/{name}", permitViewer, showDocument("resource"), ""},
	{"POST /console/resources/{name}/plan", permitPlan, tryDocument("resource", false), ""},
	{"POST /console/resources/{name}/call", permitCall, tryDocument("resource", true), ""},
	{"GET /console/skills", permitViewer, listDocuments("skill"), ""},
	{"GET /console/skills/{name}", permitViewer, showDocument("skill"), ""},
	{"GET " + downloadPath + "{id}", permitCall, (*Console).download, ""},
	{"GET /console/approvals", permitApprovals, (*Console).approvals, approvalKinds},
	{"GET /console/approvals/{id}", permitApprovals, (*Console).approval, approvalKinds},
	{"POST /console/approvals/{id}/decide", permitDecision, (*Console).decide, ""},
	{"POST /console/approvals/{id}/look", permitDecision, (*Console).lookAgain, ""},
	{"GET /console/calls", permitViewer, (*Console).calls, callKinds},
	{"GET " + eventsPath, permitViewer, (*Console).events, ""},
	{"GET /console/calls/{id}", permitViewer, (*Console).oneCall, oneCallKinds},
	{"GET /console/reload", permitViewer, (*Console).reload, reloadKinds},
	{"POST /console/reload", permitOperator, (*Console).loadNow, ""},
	{"GET /console/policies", permitIdentifiedViewer, (*Console).policies, ""},
	{"GET " + rulesPath, permitIdentifiedViewer, (*Console).rules, ""},
	{"GET " + policiesPath + "/{kind}/{name}", permitIdentifiedViewer, (*Console).policy, ""},
	{"GET /console/state", permitIdentifiedViewer, (*Console).state, stateKinds},
	{"GET /console/audit", permitIdentifiedViewer, (*Console).audit, ""},
	{"GET /console/tasks", permitIdentifiedViewer, (*Console).tasks, taskKinds},
	{"GET /console/tasks/{id}", permitIdentifiedViewer, (*Console).task, taskKinds},
	{"GET /console/tasks/{id}/cancel", permitIdentifiedViewer, (*Console).confirmCancel, ""},
	{"POST /console/tasks/{id}/cancel", permitIdentifiedViewer, (*Console).cancelTask, ""},
	{"GET " + sessionsPath, permitOperator, (*Console).sessions, reloadKinds}, // and every few seconds
	{"GET " + sessionsPath + "/{name}/end", permitOperator, (*Console).confirmEnd, ""},
	{"POST " + sessionsPath + "/{name}/end", permitOperator, (*Console).endSession, ""},
	{"GET " + signInsPath, permitSignIns, (*Console).signIns, ""},
	{"GET " + signInsPath + "/{id}/revoke", permitSignIns, (*Console).confirmRevoke, ""},
	{"POST " + signInsPath + "/{id}/revoke", permitSignIns, (*Console).revoke, ""},
}

// menuEntry is one entry of the navigation.
type menuEntry struct {
	Label, Path, Key string // Key is pressed after g
	may              permission
	count            func(*Console, *request) string // what waits there for the person; nil for nothing
}

// menu is the navigation, in its order. A person sees the entries that they may open.
var menu = []menuEntry{
	{"Overview", home, "o", permitViewer, nil},
	{"Tools", "/console/tools", "t", permitViewer, nil},
	{"Prompts", documentsPath("prompt"), "m", permitPrompts, nil},
	{"Resources", documentsPath("resource"), "e", permitResources, nil},
	{"Skills", documentsPath("skill"), "l", permitSkills, nil},
	{"Approvals", approvalsPath, "a", permitApprovals, (*Console).countPending},
	{"Calls", callsPath, "c", permitViewer, nil},
	{"Audit", auditPath, "u", permitIdentifiedViewer, nil},
	{"Tasks", tasksPath, "k", permitIdentifiedViewer, nil},
	{"Sessions", sessionsPath, "n", permitOperator, nil},
	{"Sign-ins", signInsPath, "i", permitSignIns, nil},
	{"Policies", policiesPath, "p", permitIdentifiedViewer, nil},
	{"State", statePath, "s", permitIdentifiedViewer, nil},
	{"Reload", reloadPath, "r", permitViewer, nil},
}

func (c *Console) visibleMenu(q *request) (entries []menuEntry) {
	for _, e := range menu {
		if q.session != nil && e.may(c, q) == "" {
			entries = append(entries, e)
		}
	}
	return entries
}

// frame is the dot of a template: the page and what is around it.
type frame struct {
	Title, Server, Colour string
	Status                int
	Who                   string // who is signed in; empty for nobody
	Menu                  []menuEntry
	Path                  string
	Data                  any
	Now                   time.Time
	Alone                 bool // there is no authentication, so nobody can decide

	// Live are the kinds of events after which a script asks for the page again, with spaces; empty for a page that is
	// not kept up to date.
	Live  string
	Page  string // its address, if a form has posted to another one
	Share string // name of the stream of events among the tabs of the session; empty for a person without it

	token func(path string) string
	count func(menuEntry) string
	// counts are what was counted, by the path of the entry.
	counts map[string]string
}

func (c *Console) newFrame(q *request, out *answer) *frame {
	f := &frame{
		Title: out.title, Server: cmp.Or(q.block.Title, c.Host.Current().Title()), Colour: q.block.Colour,
		Status: out.status,
		Path:   q.URL.Path, Data: out.data, Now: q.now, Menu: c.visibleMenu(q),
		Alone: c.Host.Authenticator() == nil, Live: out.live, Page: out.page,
		token: func(path string) string { return c.token(q.session, path) },
		count: func(e menuEntry) string { return e.count(c, q) },
	}
	if q.session != nil {
		f.Who = q.session.displayName()
	}
	if out.live != "" && q.isViewer {
		f.Share = shareName(q.session)
	}
	return f
}

// Pending returns how many approvals wait for the person, for the title of the page.
func (f *frame) Pending() string {
	for _, e := range f.Menu {
		if e.Path == approvalsPath {
			return f.Count(e)
		}
	}
	return ""
}

// Count returns how much waits at an entry of the menu; empty for nothing.
func (f *frame) Count(e menuEntry) string {
	if e.count == nil {
		return ""
	}
	n, known := f.counts[e.Path]
	if !known {
		n = f.count(e)
		f.counts = map[string]string{e.Path: n}
	}
	return n
}

// Token returns the field of a form that posts to a path.
func (f *frame) Token(path string) template.HTML {
	return template.HTML(`<input type="hidden" name="` + tokenField + `" value="` + f.token(path) + `">`)
}

// IsAt reports whether the page belongs to an entry of the navigation.
func (f *frame) IsAt(path string) bool {
	return f.Path == path || path != home && strings.HasPrefix(f.Path, path+"/")
}

//go:embed templates
var templateFiles embed.FS

// pages returns the templates of all pages, by name.
var pages = sync.OnceValue(func() map[string]*template.Template {
	functions := template.FuncMap{
		"asset": assetAddress, "time": formatTime, "ago": ago, "left": left, "count": count, "join": strings.Join,
		"cut": shorten, "cell": shortCell, "control": controlText,
		"json":    func(text json.RawMessage) string { return indentJSON(text) },
		"stateOf": stateOf, "table": func(text json.RawMessage) *table { return newTable(text) },
		"approvalState": approvalState, "recordState": recordState, "upState": upState,
		"limitCaller": limitCaller,
		"rateLeft":    rateLeft,
		"loadState":   loadState, "loadText": loadText, "shortRevision": shortRevision,
		"callPath": callPath, "approvalPath": approvalPath, "recordPath": recordPath,
		"taskPath": taskPath, "endPath": endPath, "revokePath": revokePath, "toolPath": toolPath,
		"documentsPath": documentsPath,
		"badgesOf":      badgesOf, "summaryOf": summaryOf, "positionOf": positionOf, "thousands": thousands,
		"callsOf": callsOf, "failedPercent": failedPercent,
		"seconds": seconds, "took": took, "duration": duration, "millisOf": milliseconds,
		"clientName": mcp.ClientName, "millis": time.UnixMilli,
		"image": func(data string) template.URL { return template.URL(data) }, // of a type that addImage has checked
		"clock": clock,
	}
	layout := template.Must(template.New("layout.html").Funcs(functions).ParseFS(templateFiles,
		"templates/layout.html", "templates/parts.html", "templates/form.html"))
	files, err := templateFiles.ReadDir("templates")
	if err != nil {
		panic(err) // the directory is part of the program
	}
	out := map[string]*template.Template{}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".html")
		out[name] = template.Must(template.Must(layout.Clone()).ParseFS(templateFiles, "templates/"+f.Name()))
	}
	return out
})

// took returns how long something took, for people.
func took(d time.Duration) string {
	switch {
	case d > 0 && d < 100*time.Microsecond:
		return fmt.Sprintf("%d µs", max(d.Microseconds(), 1))
	case d < time.Second:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < 2*time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return duration(d.Round(time.Second))
}
