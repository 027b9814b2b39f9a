package console

import (
	"embed"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// route is one line of the table of pages.
type route struct {
	pattern string
	may     func(*Console, *request) bool // nil for a page without a session
	handle  func(*Console, http.ResponseWriter, *request) (*answer, error)
}

const home = "/console/"

// routes are all pages and all that forms post to.
var routes = []route{
	{"GET " + signInPath, nil, (*Console).signInPage},
	{"POST " + signInPath, nil, (*Console).signIn},
	{"GET " + ticketPath, nil, (*Console).redeemTicket},
	{"POST " + signOutPath, anyone, (*Console).signOut},
	{"GET /console/{$}", looks, (*Console).overview},
	{"GET /console/tools", looks, (*Console).tools},
	{"GET /console/tools/{name}", looks, (*Console).tool},
	{"POST /console/tools/{name}/plan", mayPlan, (*Console).plan},
	{"POST /console/tools/{name}/call", mayCall, (*Console).call},
	{"GET " + downloadPath + "{id}", mayCall, (*Console).download},
	{"GET /console/approvals", seesApprovals, (*Console).approvals},
	{"GET /console/approvals/{id}", seesApprovals, (*Console).approval},
	{"POST /console/approvals/{id}/decide", decides, (*Console).decide},
	{"POST /console/approvals/{id}/look", decides, (*Console).lookAgain},
	{"GET /console/calls", looks, (*Console).calls},
	{"GET /console/calls/events", looksWithName, (*Console).callEvents},
	{"GET /console/calls/{id}", looks, (*Console).oneCall},
	{"GET /console/reload", looks, (*Console).reload},
	{"POST /console/reload", operates, (*Console).loadNow},
	{"GET /console/policies", looksWithName, (*Console).policies},
	{"GET /console/state", looksWithName, (*Console).state},
	{"GET /console/audit", looksWithName, (*Console).audit},
	{"GET /console/tasks", looksWithName, (*Console).tasks},
	{"GET /console/tasks/{id}", looksWithName, (*Console).task},
	{"GET /console/tasks/{id}/cancel", looksWithName, (*Console).askCancel},
	{"POST /console/tasks/{id}/cancel", looksWithName, (*Console).cancelTask},
	{"GET " + sessionsPath, operates, (*Console).sessions},
	{"GET " + sessionsPath + "/{name}/end", operates, (*Console).askEnd},
	{"POST " + sessionsPath + "/{name}/end", operates, (*Console).endSession},
}

// place is one entry of the navigation.
type place struct {
	Label, Path, Key string // Key is pressed after g
	may              func(*Console, *request) bool
}

// menu is the navigation, in its order. A session sees the places that it may open.
var menu = []place{
	{"Overview", home, "o", looks},
	{"Tools", "/console/tools", "t", looks},
	{"Approvals", approvalsPath, "a", seesApprovals},
	{"Calls", callsPath, "c", looks},
	{"Audit", auditPath, "u", looksWithName},
	{"Tasks", tasksPath, "k", looksWithName},
	{"Sessions", sessionsPath, "n", operates},
	{"Policies", policiesPath, "p", looksWithName},
	{"State", statePath, "s", looksWithName},
	{"Reload", reloadPath, "r", looks},
}

// adminGroup is the group of the callers that operate a server with an auth block.
const adminGroup = "admin"

// anyone permits everybody who is signed in.
func anyone(*Console, *request) bool { return true }

// looks permits those whom allow of the console block permits.
func looks(c *Console, q *request) bool {
	if q.block.Allow != nil {
		return c.Inspector.MayLook(q.Context(), q.caller(""))
	}
	return c.Inspector.Authenticator() == nil || isAdmin(c, q)
}

// isAdmin permits callers in the group admin.
func isAdmin(_ *Console, q *request) bool {
	i := q.session.Identity
	return i != nil && slices.Contains(i.Groups, adminGroup)
}

func (c *Console) visiblePlaces(q *request) (places []place) {
	for _, p := range menu {
		if q.session != nil && p.may(c, q) {
			places = append(places, p)
		}
	}
	return places
}

// firstPlace returns the first place that a session may open; empty for none.
func (c *Console) firstPlace(q *request) string {
	if places := c.visiblePlaces(q); len(places) > 0 {
		return places[0].Path
	}
	return ""
}

// frame is the dot of a template: the page and what is around it.
type frame struct {
	Title, Server, Colour string
	Status                int
	Who                   string // who is signed in; empty for nobody
	Menu                  []place
	Path                  string
	Data                  any
	Now                   time.Time

	token func(path string) string
}

func (c *Console) newFrame(q *request, out *answer) *frame {
	f := &frame{
		Title: out.title, Server: c.serverTitle(q), Colour: q.block.Colour, Status: out.status, Path: q.URL.Path,
		Data: out.data, Now: q.now, Menu: c.visiblePlaces(q),
		token: func(path string) string { return c.token(q.session, path) },
	}
	if q.session != nil {
		f.Who = q.session.who()
	}
	return f
}

// Token returns the field of a form that posts to a path.
func (f *frame) Token(path string) template.HTML {
	return template.HTML(`<input type="hidden" name="` + tokenField + `" value="` + f.token(path) + `">`)
}

// SignOut returns where signing out posts to.
func (f *frame) SignOut() string { return signOutPath }

// IsAt reports whether the page belongs to a place of the navigation.
func (f *frame) IsAt(path string) bool {
	return f.Path == path || path != home && strings.HasPrefix(f.Path, path+"/")
}

// serverTitle returns the name of the server for people.
func (c *Console) serverTitle(q *request) string {
	if q.block.Title != "" {
		return q.block.Title
	}
	return c.Inspector.Title()
}

//go:embed templates
var templateFiles embed.FS

// pages returns the templates of all pages, by name.
var pages = sync.OnceValue(func() map[string]*template.Template {
	functions := template.FuncMap{
		"asset": assetAddress, "time": formatTime, "ago": ago, "left": left, "count": count, "join": strings.Join,
		"cut": cut, "inc": func(n int) int { return n + 1 },
		"json":          func(text json.RawMessage) string { return indentJSON(text) },
		"approvalState": approvalState, "recordState": recordState, "verdict": verdict, "callPath": callPath,
		"loadState": loadState, "loadText": loadText, "shortRevision": shortRevision,
		"limitCaller": limitCaller, "breakerClass": breakerClass,
		"taskState": taskState, "taskPath": taskPath, "endPath": endPath,
		"image": func(data string) template.URL { return template.URL(data) },  // of a type that newImage has checked
		"clock": clock, "percent": func(of float64) float64 { return of * 10 }, // of a picture that is 1000 wide
		"barsHeight": func(bars []bar) int { return len(bars) * barHeight },
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
