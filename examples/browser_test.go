package examples_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a tab of a real browser, which notes what no page of the console may cause.
type browser struct {
	t      *testing.T
	ctx    context.Context
	close  context.CancelFunc // closes the tab, and with the first one the browser
	origin string             // of the server; other hosts are foreign

	mu      sync.Mutex
	reports []string // errors and violations of the content security policy; guarded by mu
	foreign []string // addresses of other hosts that were asked for; guarded by mu
}

// openBrowser starts a browser with a profile of its own, for which names are those of this machine. It accepts every
// certificate.
func openBrowser(t *testing.T, origin string, names ...string) *browser {
	t.Helper()
	chromium := needs(t, "HATCHEL_TEST_CHROMIUM")
	var rules []string
	for _, name := range names {
		rules = append(rules, "MAP "+name+" 127.0.0.1")
	}
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), chromedp.ExecPath(chromium), chromedp.Headless, chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1100, 760),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-site-isolation-trials", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("host-resolver-rules", strings.Join(rules, ",")), chromedp.Flag("ignore-certificate-errors", true),
		chromedp.WSURLReadTimeout(time.Minute))
	t.Cleanup(cancel)
	return openTab(t, allocator, origin)
}

// openTab opens a tab of the browser of a context.
func openTab(t *testing.T, parent context.Context, origin string) *browser {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx, close: cancel, origin: origin}
	if err := chromedp.Listen(ctx, b.note); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		if _, err := cdp.Call(ctx, tab, network.Enable, network.EnableParams{}); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, tab, log.Enable, cdp.Empty{})
		return err
	}))
	b.prefer("light")
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.reports)+len(b.foreign) > 0 {
			t.Errorf("the browser reports:\n%s\nrequests to other hosts: %q", strings.Join(b.reports, "\n"), b.foreign)
		}
	})
	return b
}

func (b *browser) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, b.origin) && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "about:") {
			b.foreign = append(b.foreign, u)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Source == log.EntrySourceSecurity {
			b.reports = append(b.reports, e.Entry.Text+" "+e.Entry.URL)
		}
	case *cdpruntime.EventExceptionThrown:
		b.reports = append(b.reports, e.ExceptionDetails.Text)
	}
}

// forget drops the reports that have a text.
func (b *browser) forget(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reports = slices.DeleteFunc(b.reports, func(report string) bool { return strings.Contains(report, text) })
}

// do runs actions, each of which has a minute.
func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	for _, action := range actions {
		run(b, action)
	}
}

func run[T any](b *browser, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	got, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

// open goes to a path of the server, or to an address.
func (b *browser) open(address string) {
	b.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.origin + address
	}
	b.do(chromedp.Navigate(address))
}

// eval runs an expression in the page, as its own modules run.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	return run(b, chromedp.Evaluate[T](expression))
}

// text returns what a person reads on the page.
func (b *browser) text() string { return eval[string](b, `document.body?.innerText ?? ""`) }

// await waits until an expression over the page is true.
func (b *browser) await(expression string) {
	b.t.Helper()
	eventually(b.t, expression, func() bool {
		is, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`document.readyState === "complete" && (`+expression+`)`))
		return is && err == nil // an error while the page is replaced
	})
}

// press presses keys on the element that has the focus.
func (b *browser) press(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// prefer sets the color scheme that the person prefers.
func (b *browser) prefer(scheme string) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
		})
		return err
	}))
}

// resize gives the page another width.
func (b *browser) resize(width int) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: int64(width), Height: 760, DeviceScaleFactor: 1,
		})
		return err
	}))
}

// disableScripts turns the scripts of pages off, or on again.
func (b *browser) disableScripts(off bool) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: off})
		return err
	}))
}

// violation is what axe finds wrong.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

var axe = sync.OnceValues(func() ([]byte, error) { return os.ReadFile(os.Getenv("HATCHEL_TEST_AXE")) })

// inWorld returns an option that evaluates in a world of its own, where the policy of the page does not hold: of the
// page, or of the frame at a depth.
func inWorld(ctx context.Context, tab *chromedp.Target, depth int) (chromedp.EvaluateOption, error) {
	tree, err := cdp.Call(ctx, tab, cdppage.GetFrameTree, cdp.Empty{})
	if err != nil {
		return nil, err
	}
	at := tree.FrameTree
	for range depth {
		if len(at.ChildFrames) == 0 {
			return nil, errors.New("the page has no such frame")
		}
		at = at.ChildFrames[0]
	}
	world, err := cdp.Call(ctx, tab, cdppage.CreateIsolatedWorld, cdppage.CreateIsolatedWorldParams{
		FrameID: at.Frame.ID, WorldName: "test",
	})
	if err != nil {
		return nil, err
	}
	return func(p *cdpruntime.EvaluateParams) { p.ContextID = world.ExecutionContextID }, nil
}

// violations returns what axe finds on the page.
func (b *browser) violations() []violation {
	b.t.Helper()
	return b.violationsIn(0)
}

// violationsIn is violations for the frame at a depth; 0 is the page.
func (b *browser) violationsIn(depth int) (found []violation) {
	b.t.Helper()
	needs(b.t, "HATCHEL_TEST_AXE")
	source, err := axe()
	if err != nil {
		b.t.Fatal(err)
	}
	answer := run(b, func(ctx context.Context, tab *chromedp.Target) (string, error) {
		inWorld, err := inWorld(ctx, tab, depth)
		if err != nil {
			return "", err
		}
		if _, err := chromedp.Evaluate[any](string(source)+";0", inWorld)(ctx, tab); err != nil {
			return "", err
		}
		const check = `axe.run(document, {resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa",
			"best-practice"]}).then((r) => JSON.stringify(r.violations))`
		return chromedp.Evaluate[string](check, inWorld, chromedp.EvalAwaitPromise)(ctx, tab)
	})
	if err := json.Unmarshal([]byte(answer), &found); err != nil {
		b.t.Fatal(err)
	}
	return found
}

// widths are those of windows for which pages are made, in pixels.
var widths = []int{390, 1280}

// checkFits reports what does not fit the width of a window: a page that is wider, a text that is cut off, a high header,
// and the bar of a decision that is not in view.
func (b *browser) checkFits(page string) {
	b.t.Helper()
	for _, width := range widths {
		b.resize(width)
		if wide := eval[[]string](b, `document.documentElement.scrollWidth <= innerWidth ? [] :
			[...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > innerWidth).slice(0, 3).
			map((e) => e.outerHTML.slice(0, 200))`); len(wide) > 0 {
			b.t.Errorf("%s is wider than a window of %d pixels: %q", page, width, wide)
		}
		if cut := eval[[]string](b, `[...document.querySelectorAll("main pre:not(.diagnostics)")].
			filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent.slice(0, 100))`); len(cut) > 0 {
			b.t.Errorf("%s cuts texts off at a width of %d pixels: %q", page, width, cut)
		}
		if height := eval[float64](b, `document.querySelector("header")?.offsetHeight ?? 0`); height > 110 {
			b.t.Errorf("%s has a header of %.0f pixels at a width of %d pixels", page, height, width)
		}
		if hidden := eval[bool](b, `[...document.querySelectorAll(".decision")].some((e) => {
			const { top, bottom } = e.getBoundingClientRect();
			return top < 0 || bottom > innerHeight;
		})`); hidden {
			b.t.Errorf("%s has a bar that is not in view at a width of %d pixels", page, width)
		}
	}
	b.resize(1100)
}

// checkAccessible reports what axe finds on the page, in light and in dark.
func (b *browser) checkAccessible(page string) {
	b.t.Helper()
	for _, scheme := range []string{"dark", "light"} {
		b.prefer(scheme)
		for _, v := range b.violations() {
			b.t.Errorf("%s, %s: %s: %s", page, scheme, v.ID, v.Help)
			for _, n := range v.Nodes[:min(3, len(v.Nodes))] {
				b.t.Errorf("  %s\n  %s", n.HTML, n.Summary)
			}
		}
	}
}
