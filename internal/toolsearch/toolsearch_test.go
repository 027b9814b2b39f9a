package toolsearch_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"hatchel/internal/toolsearch"
)

// desk is a small catalogue.
var desk = []toolsearch.Tool{
	{Name: "list_overdue", Title: "Overdue invoices", Description: "List invoices whose due date has passed and that are not paid."},
	{Name: "getOrder", Description: "Read one order with its items.", Inputs: []toolsearch.Input{{Name: "order_id"}}},
	{Name: "close_ticket", Description: "Close a support ticket.", Inputs: []toolsearch.Input{
		{Name: "reason", Description: "Why it is closed.", Values: []string{"solved", "duplicate", "spam"}},
	}},
	{Name: "read_order_history", Description: "Read earlier orders of a customer."},
	{Name: "merge_pull_request", Description: "Merge a pull request on GitHub."},
	{Name: "month_report", Title: "Months", Description: "Read the sums of a month.", Hint: "turnover, revenue"},
	{Name: "send_mail", Description: "Send an e-mail to the customer."},
	{Name: "käufer_suchen", Description: "Sucht Käufer nach Größe und Straße."},
	{Name: "chumon", Description: "注文の状態を表示する"},
	{Name: "replay_urls", Description: "Request URLs again, HTTPStatus 503 only."},
}

func names(tools []toolsearch.Tool, found []int) (all []string) {
	for _, i := range found {
		all = append(all, tools[i].Name)
	}
	return all
}

func TestFind(t *testing.T) {
	index := toolsearch.New(desk)
	for _, c := range []struct{ query, want string }{
		{"Who has not paid?", "list_overdue"},
		{"invoice", "list_overdue"},
		{"invoicing", "list_overdue"},
		{"get order", "getOrder read_order_history"},
		{"close tickets as spam", "close_ticket merge_pull_request getOrder"},
		{"closing", "close_ticket"},
		{"github", "merge_pull_request"},
		{"turnover", "month_report"},
		{"GitHub", "merge_pull_request"},
		{"email the customer's address", "send_mail read_order_history"},
		{"e-mail", "send_mail"},
		{"KAUFER", "käufer_suchen"},
		{"groesse strasse", "käufer_suchen"},
		{"STRAẞE", "käufer_suchen"},
		{"Größe", "käufer_suchen"},
		{"注文状態", "chumon"},
		{"url", "replay_urls"},
		{"http status", "replay_urls"},
		{"503", "replay_urls"},
		{"close_ticket", "close_ticket merge_pull_request getOrder"},
		{"getorder", "getOrder"},
		{" GETORDER ", "getOrder"},
		{"astronomy", ""},
		{"!?", ""},
		{"\xff\xfe", ""},
	} {
		if got := strings.Join(names(desk, index.Find(c.query, nil, 3)), " "); got != c.want {
			t.Errorf("%q finds %q, and has to find %q", c.query, got, c.want)
		}
	}
	if got := index.Find("order", nil, 0); got != nil {
		t.Errorf("a limit of 0 gives %v", got)
	}
	if got := toolsearch.New(nil).Find("order", nil, 5); got != nil {
		t.Errorf("no tools give %v", got)
	}
}

// TestSpellingsFindEachOther asks with each of two spellings for a tool that is described with the other.
func TestSpellingsFindEachOther(t *testing.T) {
	for _, pair := range [][2]string{
		{"log in", "login"}, {"logged in", "logins"}, {"sets up", "setup"}, {"taking over", "replace"}, {"shut down", "stop"},
		{"runs out", "expiry"}, {"2FA", "mfa"}, {"K8s", "kubernetes"}, {"S3", "s3"}, {"dbs", "database"}, {"cert", "certificates"},
		{"config", "configuration"}, {"organise", "organization"}, {"colour", "colors"}, {"licences", "licensed"},
		{"centre", "centers"}, {"analyse", "analyzed"}, {"cheque", "checks"}, {"notify", "notifications"},
		{"verified", "verification"}, {"allergy", "allergic"}, {"children", "child"}, {"indices", "index"}, {"sent", "sending"},
		{"bought", "buying"}, {"written", "writes"}, {"ran", "running"}, {"patient's", "patients"}, {"shelves", "shelf"},
		{"employ", "employees"}, {"employee", "employment"}, {"deliver", "deliveries"}, {"pay", "payment"}, {"payment", "payer"},
		{"invest", "investors"}, {"approve", "approvals"}, {"supervise", "supervisors"}, {"invigilates", "invigilators"},
		{"power of attorney", "proxy"}, {"switched off", "disable"},
	} {
		for i := range pair {
			tools := []toolsearch.Tool{{Name: "x", Description: "Prints " + pair[i] + " here."}, {Name: "y", Description: "Else."}}
			if got := names(tools, toolsearch.New(tools).Find(pair[1-i], nil, 5)); !slices.Equal(got, []string{"x"}) {
				t.Errorf("%q finds %v of %q", pair[1-i], got, pair[i])
			}
		}
	}
}

// TestWordsOfOtherRootsAreNotFound asks with words that have the ending of a derived word and are none.
func TestWordsOfOtherRootsAreNotFound(t *testing.T) {
	for _, pair := range [][2]string{
		{"customer", "customs"}, {"server", "service"}, {"current", "currency"}, {"state", "station"}, {"mission", "missing"},
	} {
		for i := range pair {
			tools := []toolsearch.Tool{{Name: "x", Description: "Prints " + pair[i] + " here."}, {Name: "y", Description: "Else."}}
			if got := names(tools, toolsearch.New(tools).Find(pair[1-i], nil, 5)); len(got) > 0 {
				t.Errorf("%q finds %v of %q", pair[1-i], got, pair[i])
			}
		}
	}
}

// TestAQuestionAsksForWhatATermOfItStandsFor asks with words of users for words of tools, and not the other way round.
func TestAQuestionAsksForWhatATermOfItStandsFor(t *testing.T) {
	for _, pair := range [][2]string{
		{"how much", "balance"}, {"who", "participants"}, {"moved house", "relocation"}, {"cardiologist", "referral"},
		{"the printer does not work", "defect"}, {"it is out of order", "malfunction"}, {"called in sick", "absence"},
		{"switched the alarm off", "disable"}, {"lost my job", "unemployment"},
	} {
		asks := func(question, text string) []string {
			tools := []toolsearch.Tool{{Name: "x", Description: "Prints " + text + " here."}, {Name: "y", Description: "Else."}}
			return names(tools, toolsearch.New(tools).Find(question, nil, 5))
		}
		if got := asks(pair[0], pair[1]); !slices.Equal(got, []string{"x"}) {
			t.Errorf("%q finds %v of %q", pair[0], got, pair[1])
		}
	}
	tools := []toolsearch.Tool{{Name: "x", Description: "Shows a cardiologist."}}
	if got := toolsearch.New(tools).Find("referral", nil, 5); len(got) > 0 {
		t.Errorf("%q is found by what a question with a word of it asks for", tools[0].Description)
	}
}

// TestTheThesaurusIsInOrder reads the file as the package embeds it.
func TestTheThesaurusIsInOrder(t *testing.T) {
	text, err := os.ReadFile("thesaurus.txt")
	if err != nil {
		t.Fatal(err)
	}
	before, isIn := "", map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || line[0] == '#' {
			before = ""
			continue
		}
		if line <= before {
			t.Errorf("%q is behind %q", line, before)
		}
		if isIn[line] || len(line) > 120 {
			t.Errorf("%q is there twice, or has more than 120 columns", line)
		}
		before, isIn[line] = line, true
		words := strings.Fields(strings.Replace(line, ":", "", 1))
		if slices.Sort(words); len(words) < 2 || len(slices.Compact(slices.Clone(words))) < len(words) {
			t.Errorf("%q has a word twice, or only one", line)
		}
		if strings.Trim(line, "abcdefghijklmnopqrstuvwxyz0123456789-: ") != "" || strings.Count(line, ":") > 1 {
			t.Errorf("%q has other marks than hyphens, and one colon", line)
		}
	}
}

// TestQuestionsAreRead asks questions whose letters, without the reading of queryTerms, name the second tool.
func TestQuestionsAreRead(t *testing.T) {
	for _, c := range []struct{ query, right, wrong string }{
		{"I'll see the bed", "beds", "ill"},
		{"I'd like a report", "reports", "id"},
		{"We’ll close the well", "close", "will"},
		{"who cannot log in", "login failures", "log"},
		{"turn it off", "disable", "it"},
		{"sign the documents in May", "sign documents", "sign-in"},
		{"invoices above 30 euros", "invoices", "30"},
		{"set up the web hook", "webhook", "a hook for coats"},
		{"restart the k8s pod", "k8s pod", "8 k s"},
	} {
		tools := []toolsearch.Tool{{Name: "a", Description: c.wrong}, {Name: "b", Description: c.right}}
		found := names(tools, toolsearch.New(tools).Find(c.query, nil, 5))
		if len(found) == 0 || found[0] != "b" {
			t.Errorf("%q finds %v, and %q has to be before %q", c.query, found, c.right, c.wrong)
		}
	}
}

func TestAnExactNameIsFirst(t *testing.T) {
	tools := []toolsearch.Tool{
		{Name: "order", Description: strings.Repeat("nothing to do with it, ", 100)},
		{Name: "order_order", Title: "Order order", Description: "Order an order of orders."},
	}
	if got := names(tools, toolsearch.New(tools).Find("order", nil, 1)); !slices.Equal(got, []string{"order"}) {
		t.Errorf("found %v", got)
	}
}

func TestTiesAreInTheOrderOfNames(t *testing.T) {
	tools := []toolsearch.Tool{{Name: "c_order"}, {Name: "a_order"}, {Name: "b_order"}}
	if got := names(tools, toolsearch.New(tools).Find("order", nil, 3)); !slices.IsSorted(got) {
		t.Errorf("found %v", got)
	}
}

func TestRepeatedWordsDoNotRaiseATool(t *testing.T) {
	tools := []toolsearch.Tool{
		{Name: "refund_order", Description: "Refund an order."},
		{Name: "ship_parcel", Description: strings.Repeat("refund order ", 500)},
	}
	for i := range 20 {
		tools = append(tools, toolsearch.Tool{Name: fmt.Sprintf("other_%d", i), Description: "Something else."})
	}
	if got := names(tools, toolsearch.New(tools).Find("refund an order", nil, 1)); got[0] != "refund_order" {
		t.Errorf("found %v", got)
	}
}

// TestHiddenToolsMoveNoRank compares an index of all tools, of which some are hidden, with one of those that are not.
func TestHiddenToolsMoveNoRank(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("order invoice refund ticket customer list read open close mail stock price daily report log in login")
	for range 50 {
		var all, shown []toolsearch.Tool
		var place []int
		for i := range 60 {
			tool := toolsearch.Tool{Name: fmt.Sprint(words[random.IntN(len(words))], "_", i)}
			for range random.IntN(30) {
				tool.Description += " " + words[random.IntN(len(words))]
			}
			if all = append(all, tool); random.IntN(3) > 0 {
				shown, place = append(shown, tool), append(place, i)
			}
		}
		query := words[random.IntN(len(words))] + " " + words[random.IntN(len(words))]
		got := toolsearch.New(all).Scored(query, func(i int) bool { return slices.Contains(place, i) }, 100)
		want := toolsearch.New(shown).Scored(query, nil, 100)
		for i := range want {
			want[i].Tool = place[want[i].Tool]
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q finds %v among hidden tools, and %v without them", query, got, want)
		}
	}
	hidden := toolsearch.New(desk).Find("close_ticket", func(i int) bool { return desk[i].Name != "close_ticket" }, 10)
	if slices.ContainsFunc(hidden, func(i int) bool { return desk[i].Name == "close_ticket" }) {
		t.Errorf("a hidden tool is found by its name: %v", names(desk, hidden))
	}
}

// TestEveryIndexFindsTheSame compares 100 indexes, whose maps have 100 orders.
func TestEveryIndexFindsTheSame(t *testing.T) {
	tools := catalogue(t)
	tools = tools[:50]
	const query = "monthly report of open customer orders by region with status and total"
	want := toolsearch.New(tools).Scored(query, nil, 100)
	for range 99 {
		if got := toolsearch.New(tools).Scored(query, nil, 100); !reflect.DeepEqual(got, want) {
			t.Fatalf("found %v and %v", got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"open orders", ""},
		{strings.Repeat("a ", 16), ""},
		{strings.Repeat("a ", 17), "query has 17 words; at most 16 are accepted"},
		{strings.Repeat("ä", 129), "query has 258 bytes; at most 256 are accepted"},
		{" ?! ", "query has no word: write in a few words what the tool has to do"},
		{"", "query has no word: write in a few words what the tool has to do"},
	} {
		got := ""
		if err := toolsearch.Check(c.query); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q: %q, and has to be %q", c.query, got, c.want)
		}
	}
}

func FuzzFind(f *testing.F) {
	for _, tool := range desk {
		f.Add(tool.Name, tool.Description)
	}
	f.Add("İstanbul ﬁle ①", "ー ' - ’s e-'-mail URLs S s's")
	f.Fuzz(func(t *testing.T, query, text string) {
		index := toolsearch.New(append(slices.Clone(desk), toolsearch.Tool{Name: "it", Description: text}))
		for _, match := range index.Scored(query, nil, 100) {
			if !(match.Score >= 0) || match.Score > 1e6 {
				t.Errorf("%q in %q: score %v", query, text, match.Score)
			}
		}
		if utf8.ValidString(text) && toolsearch.Check(text) == nil && !slices.Contains(index.Find(text, nil, 100), len(desk)) {
			t.Errorf("%q does not find itself", text)
		}
	})
}

// TestTheIndexTakesAtMost2KiBATool measures 1,000 tools, after the first index has read the thesaurus, which all share.
func TestTheIndexTakesAtMost2KiBATool(t *testing.T) {
	tools := catalogue(t)
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	toolsearch.New(tools[:1])
	before := used()
	index := toolsearch.New(tools)
	each := int(used()-before) / len(tools)
	runtime.KeepAlive(index)
	runtime.KeepAlive(tools)
	if t.Logf("%d bytes a tool", each); each > 2048 {
		t.Errorf("an index takes %d bytes a tool", each)
	}
}
