package hcl

import (
	"encoding/base64"
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
)

// Webhook is one webhook block: whom the server tells what happens, by requests that are signed as Standard Webhooks says.
type Webhook struct {
	Name      string
	Disabled  bool                // there is no URL: nothing is told
	URL       decode.SecretText   // where to
	Secrets   []decode.SecretText // by each of which they are signed, as it was written; none only where the webhook is off
	Timeout   time.Duration
	Retention time.Duration // for which a delivery is tried again
	Range     diag.Range
}

const (
	defaultWebhookTimeout = 10 * time.Second
	defaultRetention      = 24 * time.Hour
	minWebhookSecret      = 24 // bytes, as Standard Webhooks asks
	encodedSecretPrefix   = "whsec_"
)

func (w *Webhook) spec() decode.Spec {
	w.Timeout, w.Retention = defaultWebhookTimeout, defaultRetention
	return decode.Spec{
		w.urlField().Require(),
		w.secretField().Require(),
		decode.PositiveDuration(&w.Timeout, "timeout", "How long the receiver may take to answer.").DefaultDoc("10s"),
		decode.PositiveDuration(&w.Retention, "retention", "How long an event is sent again, at growing intervals, while the receiver does not take it. Then it is given up.").DefaultDoc("24h").RenamedFrom("keep"),
	}
}

// DisabledWebhooks are the names of the webhooks that are told nothing.
func (c *Config) DisabledWebhooks() (names []string) {
	for _, w := range c.Webhooks {
		if w.Disabled {
			names = append(names, w.Name)
		}
	}
	return names
}

// DisplayAddress is where the webhook leads, as far as it may be shown: the rest of the URL may be a secret.
func (w *Webhook) DisplayAddress() string {
	u, err := url.Parse(w.URL.Reveal())
	if err != nil {
		return diag.Hidden
	}
	return u.Scheme + "://" + u.Host
}

// Keys are what requests are signed with.
func (w *Webhook) Keys() [][]byte {
	keys := make([][]byte, len(w.Secrets))
	for i, secret := range w.Secrets {
		keys[i], _ = webhookKey(secret.Reveal())
	}
	return keys
}

// webhookKey is the key that a secret stands for, and whether it could be read.
func webhookKey(secret string) ([]byte, bool) {
	encoded, ok := strings.CutPrefix(secret, encodedSecretPrefix)
	if !ok {
		return []byte(secret), true
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	return key, err == nil
}

// decodeWebhooks decodes the webhook blocks.
func (l *loader) decodeWebhooks() {
	l.eachBlock("webhook", func(d *decode.Decoder, b sourceBlock) {
		w := &Webhook{Name: b.label(0), Range: diag.RangeOf(b.DefRange())}
		if !exposedNamePattern.MatchString(w.Name) {
			d.Errorf(b.LabelRanges[0], "Invalid webhook name", "Deliveries are told by the name of their webhook: 1 to 64 letters, digits, _, - and ., and %q cannot be one.", w.Name)
		}
		d.Body(b.Body, w.spec(), b.DefRange())
		if !d.Diags.HasErrors() && !d.MissingValue {
			w.checkAddress(d, b.Block)
		}
		l.report(d)
		if l.declare("webhook", w.Name, b) {
			l.config.Webhooks = append(l.config.Webhooks, w)
		}
	})
	sort.Slice(l.config.Webhooks, func(i, j int) bool { return l.config.Webhooks[i].Name < l.config.Webhooks[j].Name })
	for _, w := range l.config.Webhooks {
		l.env.Webhooks = append(l.env.Webhooks, w.Name)
	}
}

// urlField declares where a webhook leads: null is nowhere.
func (w *Webhook) urlField() decode.Field {
	return decode.Custom("url", "string, secret allowed", "The address that events are posted to. With null the webhook is off, and is told nothing. With http to another machine others can read events, and a warning says so. Redirects are not followed.", func(d *decode.Decoder, e hclsyntax.Expression) {
		d.Ranges[&w.URL] = diag.RangeOf(e.Range())
		switch n := d.CompileKnown(e, decode.Field{Name: "url", Secret: true}); text := n.Value.(type) {
		case string:
			w.URL = decode.SecretText(text)
		case nil:
			w.Disabled = n.Known
		default:
			d.Errorf(e.Range(), "Wrong type", "url takes a string, and this is %s.", eval.TypePhrase(eval.TypeOf(text)))
		}
	})
}

// secretField declares the secrets of a webhook: one, or several while one takes the place of another.
func (w *Webhook) secretField() decode.Field {
	return decode.Custom("secret", "string or list of strings, secret allowed", "The secret that requests are signed with, as in secret.hook: at least 24 characters, or whsec_ and the key in base64. A list while one takes the place of another: requests are signed with each, and a null in it is left out.", func(d *decode.Decoder, e hclsyntax.Expression) {
		d.Ranges[&w.Secrets] = diag.RangeOf(e.Range())
		n := d.CompileKnown(e, decode.Field{Name: "secret", Secret: true})
		all, ok := n.Value.([]any)
		if !ok {
			all = []any{n.Value}
		}
		for i, v := range all {
			switch text := v.(type) {
			case string:
				checkSecret(d, decode.ElementRange(e, i), text)
				w.Secrets = append(w.Secrets, decode.SecretText(text))
			case nil:
			default:
				d.Errorf(decode.ElementRange(e, i), "Wrong type", "secret takes a string or a list of strings, and this is %s.", eval.TypePhrase(eval.TypeOf(text)))
			}
		}
	})
}

// checkSecret says what is wrong with one secret, and does not show it.
func checkSecret(d *decode.Decoder, where hclv2.Range, secret string) {
	switch key, ok := webhookKey(secret); {
	case !ok:
		d.Errorf(where, "Invalid webhook secret", "What follows whsec_ is base64, with its padding, and this is not.")
	case len(key) < minWebhookSecret:
		d.Errorf(where, "Weak webhook secret", "A secret of fewer than %d bytes could be guessed, and who knows it can send events in your name. This makes one: openssl rand -base64 32.", minWebhookSecret)
	}
}

// checkAddress says what is wrong with where a webhook leads, and that nothing signs what it is told. What it says does not show where that is: it may be a secret.
func (w *Webhook) checkAddress(d *decode.Decoder, b *hclsyntax.Block) {
	if w.Disabled {
		return
	}
	u, err := url.Parse(w.URL.Reveal())
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		d.Errorf(d.FieldRange(&w.URL, b), "Invalid webhook address", "url is a whole URL such as \"https://ops.example/hooks\", with https and a host, or null for a webhook that is off.")
	case u.User != nil || u.Fragment != "":
		d.Errorf(d.FieldRange(&w.URL, b), "Invalid webhook address", "The URL of a webhook has no user name, password or fragment: who receives an event knows its sender by the signature.")
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		d.Diags.Warnf(diag.RangeOf(d.FieldRange(&w.URL, b)), "Webhook without TLS", "With http anybody on the way can read what is sent, such as the arguments of a call that needs approval. Write https.")
	}
	if len(w.Secrets) == 0 {
		d.Errorf(d.FieldRange(&w.Secrets, b), "Missing webhook secret", "The webhook has an address, and no secret that events are signed with: there is nothing here, as where a secret is optional and not set. Set it, or have url be null, too.")
	}
}

// webhooksField declares a list of webhooks, by name.
func webhooksField(dst *[]string, name, doc string) decode.Field {
	return decode.Custom(name, "list of webhooks", doc, func(d *decode.Decoder, e hclsyntax.Expression) {
		known := d.Env.Webhooks
		if rejectWebhookReferences(d, e) {
			return
		}
		for i, hook := range decode.Items[string](d, e, decode.Field{Name: name}, "strings") {
			switch {
			case !slices.Contains(known, hook):
				if !d.Env.Partial {
					d.Errorf(decode.ElementRange(e, i), "Unknown webhook", "There is no webhook %q.%s", hook, diag.SuggestOr(hook, known, listWebhooks(known)))
				}
			case !slices.Contains(*dst, hook):
				*dst = append(*dst, hook)
				d.Deps.Webhooks = append(d.Deps.Webhooks, hook)
			}
		}
	})
}

// rejectWebhookReferences reports references such as webhook.ops: webhooks are no values, and are named in quotes.
func rejectWebhookReferences(d *decode.Decoder, e hclsyntax.Expression) (reported bool) {
	for _, t := range e.Variables() {
		if t.RootName() != "webhook" {
			continue
		}
		name := "name"
		if len(t) > 1 {
			name, _ = hclexpr.TraverserName(t[1])
		}
		d.Errorf(t.SourceRange(), "Name in quotes needed", "A webhook is named by a text: write [%q].", name)
		reported = true
	}
	return reported
}

func listWebhooks(known []string) string {
	if len(known) == 0 {
		return " Declare one: a block `webhook \"ops\" {` with its url and its secret."
	}
	return diag.ListAre(known)
}
