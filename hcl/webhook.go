package hcl

import (
	"encoding/base64"
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Webhook is one webhook block: whom the server tells what happens, by requests that are signed as Standard Webhooks says.
type Webhook struct {
	Name    string
	URL     SecretText // where to
	Secret  SecretText // by which they are signed, as it was written
	Timeout time.Duration
	Keep    time.Duration // for which a delivery is tried again
	Range   Range
}

const (
	defaultWebhookTimeout = 10 * time.Second
	defaultWebhookKeep    = 24 * time.Hour
	leastWebhookSecret    = 24 // bytes, as Standard Webhooks asks
	encodedSecret         = "whsec_"
)

func (w *Webhook) spec() Spec {
	w.Timeout, w.Keep = defaultWebhookTimeout, defaultWebhookKeep
	return Spec{
		Attr(&w.URL, "url", "The address that events are posted to. With http to another machine others can read them, and a warning says so. Redirects are not followed.").Require(),
		Attr(&w.Secret, "secret", "The secret that requests are signed with, as in secret.hook: at least 24 characters, or whsec_ and the key in base64.").Require(),
		lasting(&w.Timeout, "timeout", "How long the receiver may take to answer.", "Nobody answers in no time. Write how long, as in \"10s\".").Or("10s"),
		lasting(&w.Keep, "keep", "How long an event is sent again, at growing intervals, while the receiver does not take it. Then it is given up.", "What is kept for no time is never delivered. Write how long, as in \"24h\".").Or("24h"),
	}
}

// Place is where the webhook leads, as far as it may be shown: the rest of the URL may be a secret.
func (w *Webhook) Place() string {
	u, err := url.Parse(w.URL.Reveal())
	if err != nil {
		return Hidden
	}
	return u.Scheme + "://" + u.Host
}

// Key is what requests are signed with.
func (w *Webhook) Key() []byte {
	key, _ := webhookKey(w.Secret.Reveal())
	return key
}

// webhookKey is the key that a secret stands for, and whether it could be read.
func webhookKey(secret string) ([]byte, bool) {
	encoded, ok := strings.CutPrefix(secret, encodedSecret)
	if !ok {
		return []byte(secret), true
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	return key, err == nil
}

// webhooks decodes the webhook blocks.
func (l *loader) webhooks() {
	for _, b := range l.blocks["webhook"] {
		w := &Webhook{Name: b.label(0), Range: at(b.DefRange())}
		d := l.decoder(b.file)
		if !offeredName.MatchString(w.Name) {
			d.errorf(b.LabelRanges[0], "Invalid webhook name", "Deliveries are told by the name of their webhook: 1 to 64 letters, digits, _, - and ., and %q cannot be one.", w.Name)
		}
		d.body(b.Body, w.spec(), b.DefRange())
		if !d.diags.HasErrors() && !d.blind {
			w.check(d, b.Block)
		}
		l.diags = append(l.diags, d.diags...)
		if l.claim("webhook", w.Name, b) {
			l.config.Webhooks = append(l.config.Webhooks, w)
		}
	}
	sort.Slice(l.config.Webhooks, func(i, j int) bool { return l.config.Webhooks[i].Name < l.config.Webhooks[j].Name })
}

// check says what is wrong with where a webhook leads, and with its key. What it says does not show them: they may be secrets.
func (w *Webhook) check(d *decoder, b *hclsyntax.Block) {
	u, err := url.Parse(w.URL.Reveal())
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		d.errorf(d.placeOf(&w.URL, b), "Invalid webhook address", "url is a whole URL such as \"https://ops.example/hooks\", with https and a host.")
	case u.User != nil || u.Fragment != "":
		d.errorf(d.placeOf(&w.URL, b), "Invalid webhook address", "The URL of a webhook has no user name, password or fragment: who receives an event knows its sender by the signature.")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		d.diags.warnf(at(d.placeOf(&w.URL, b)), "Webhook without TLS", "With http anybody on the way can read what is sent, such as the arguments of a call that needs approval. Write https.")
	}
	switch key, ok := webhookKey(w.Secret.Reveal()); {
	case !ok:
		d.errorf(d.placeOf(&w.Secret, b), "Invalid webhook secret", "What follows whsec_ is base64, with its padding, and this is not.")
	case len(key) < leastWebhookSecret:
		d.errorf(d.placeOf(&w.Secret, b), "Weak webhook secret", "A secret of fewer than %d bytes could be guessed, and who knows it can send events in your name. This makes one: openssl rand -base64 32.", leastWebhookSecret)
	}
}

// webhooksField declares a list of webhooks, by name.
func webhooksField(dst *[]string, name, doc string) Field {
	return special(name, "list of webhooks", doc, func(d *decoder, e hclsyntax.Expression) {
		var known []string
		for _, w := range d.shared.config.Webhooks {
			known = append(known, w.Name)
		}
		if named(d, e) {
			return
		}
		for i, hook := range items[string](d, e, Field{Name: name}, "strings") {
			switch {
			case !slices.Contains(known, hook):
				if !d.shared.partial {
					d.errorf(elementRange(e, i), "Unknown webhook", "There is no webhook %q.%s", hook, suggestOr(hook, known, declaredWebhooks(known)))
				}
			case !slices.Contains(*dst, hook):
				*dst = append(*dst, hook)
				d.uses.webhooks = append(d.uses.webhooks, hook)
			}
		}
	})
}

// named reports references such as webhook.ops: webhooks are no values, and are named in quotes.
func named(d *decoder, e hclsyntax.Expression) (reported bool) {
	for _, t := range e.Variables() {
		if t.RootName() != "webhook" {
			continue
		}
		name := "name"
		if len(t) > 1 {
			name, _ = stepName(t[1])
		}
		d.errorf(t.SourceRange(), "Name in quotes needed", "A webhook is named by a text: write [%q].", name)
		reported = true
	}
	return reported
}

func declaredWebhooks(known []string) string {
	if len(known) == 0 {
		return " Declare one: a block `webhook \"ops\" {` with its url and its secret."
	}
	return thereAre(known)
}
