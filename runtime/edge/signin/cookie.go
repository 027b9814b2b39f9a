package signin

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"
)

const (
	cookieName   = "hatchel-sign-in-"
	cookiePrefix = "__Host-" // browsers take such a cookie over https from this host only
	maxCookies   = 16        // sign-ins that a browser may have begun at the same time
)

// cookieName returns the name of the cookie of a sign-in; all are at the beginning of that without an ID. Over http,
// which only this machine is reached by, browsers do not take the prefix.
func (t *transaction) cookieName(id string) string {
	if t.Secure {
		return cookiePrefix + cookieName + id
	}
	return cookieName + id
}

// bind gives the browser a cookie for a sign-in, whose digest is in the transaction. A browser that has begun many
// loses the others.
func (q *request) bind(t *transaction) {
	var others []string
	for _, c := range q.Cookies() {
		if strings.HasPrefix(c.Name, t.cookieName("")) {
			others = append(others, c.Name)
		}
	}
	if len(others) >= maxCookies {
		for _, name := range others {
			q.setCookie(t, name, "", -1)
		}
	}
	value := rand.Text() + rand.Text()
	t.Binding = hashOf(value)
	q.setCookie(t, t.cookieName(t.ID), value, int(transactionLife/time.Second))
}

// isBound reports whether the browser has the cookie of a sign-in.
func (q *request) isBound(t *transaction) bool {
	cookie, err := q.Cookie(t.cookieName(t.ID))
	return err == nil && subtle.ConstantTimeCompare(hashOf(cookie.Value), t.Binding) == 1
}

// unbind takes the cookie of a sign-in from the browser.
func (q *request) unbind(t *transaction) { q.setCookie(t, t.cookieName(t.ID), "", -1) }

func (q *request) setCookie(t *transaction, name, value string, life int) {
	http.SetCookie(q.writer, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: life, HttpOnly: true, Secure: t.Secure,
		SameSite: http.SameSiteLaxMode, // the provider leads back with a link of another site
	})
}

func hashOf(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}
