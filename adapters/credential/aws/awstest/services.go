package awstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// Issuer gives credentials away and knows them again. The zero Issuer gives those of an hour. It may be used
// concurrently.
type Issuer struct {
	mu       sync.Mutex
	keys     map[string]Key
	status   int           // answered in place of a credential; guarded by mu
	code     string        // guarded by mu
	lifetime time.Duration // guarded by mu
	asked    int           // requests for credentials; guarded by mu
	forms    []string      // of STS, without its token; guarded by mu
}

// Fail has the services answer a status and a code from now on; 0 has them give credentials again.
func (i *Issuer) Fail(status int, code string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.status, i.code = status, code
}

// SetLifetime sets the life of the next credentials.
func (i *Issuer) SetLifetime(d time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.lifetime = d
}

// Add adds a key, such as one of the environment.
func (i *Issuer) Add(k Key) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.add(k)
}

func (i *Issuer) add(k Key) {
	if i.keys == nil {
		i.keys = map[string]Key{}
	}
	i.keys[k.ID] = k
}

// Revoke forgets all keys.
func (i *Issuer) Revoke() {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.keys)
}

// Asked returns how many credentials were asked for.
func (i *Issuer) Asked() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

// Forms returns what STS was asked: action, role, session and external id.
func (i *Issuer) Forms() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]string(nil), i.forms...)
}

// Key returns a key by its id.
func (i *Issuer) Key(id string) (Key, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	k, ok := i.keys[id]
	return k, ok
}

// issue returns a new key, or the status of a failure.
func (i *Issuer) issue(form string) (k Key, expires time.Time, status int, code string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked++
	if form != "" {
		i.forms = append(i.forms, form)
	}
	if i.status != 0 {
		return k, expires, i.status, i.code
	}
	lifetime := i.lifetime
	if lifetime == 0 {
		lifetime = time.Hour
	}
	k = Key{ID: fmt.Sprintf("ASIATEST%d", i.asked), Secret: fmt.Sprintf("se/cret+%d", i.asked),
		Token: fmt.Sprintf("to+ken/%d==", i.asked)}
	i.add(k)
	return k, time.Now().Add(lifetime), http.StatusOK, ""
}

// STS returns the token service of a region. It knows a role by its ARN, and one web identity by its token.
func (i *Issuer) STS(region, role, token string) http.HandlerFunc {
	v := &Verifier{Service: "sts", Region: region, Key: i.Key}
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err == nil {
			err = r.ParseForm()
		}
		action := r.PostForm.Get("Action")
		switch {
		case err != nil, r.Method != http.MethodPost, r.URL.Path != "/", r.PostForm.Get("Version") != "2011-06-15":
			writeSTSError(w, http.StatusBadRequest, "InvalidAction")
			return
		case action == "AssumeRole":
			if err := v.Verify(r, body); err != nil {
				writeSTSError(w, http.StatusForbidden, "SignatureDoesNotMatch")
				return
			}
		case r.Header.Get("Authorization") != "" || r.PostForm.Get("WebIdentityToken") != token:
			writeSTSError(w, http.StatusBadRequest, "InvalidIdentityToken")
			return
		}
		if r.PostForm.Get("RoleArn") != role {
			writeSTSError(w, http.StatusForbidden, "AccessDenied")
			return
		}
		k, expires, status, code := i.issue(fmt.Sprintf("%s %s %s %s", action, role,
			r.PostForm.Get("RoleSessionName"), r.PostForm.Get("ExternalId")))
		if status != http.StatusOK {
			writeSTSError(w, status, code)
			return
		}
		w.Header().Set("Content-Type", "text/xml")
		fmt.Fprintf(w, `<%sResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><%sResult>
<AssumedRoleUser><Arn>%s</Arn></AssumedRoleUser><Credentials><AccessKeyId>%s</AccessKeyId>
<SecretAccessKey>%s</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration></Credentials>
</%sResult></%sResponse>`, action, action, role, k.ID, k.Secret, k.Token, expires.UTC().Format(time.RFC3339), action,
			action)
	}
}

func writeSTSError(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>
<Code>%s</Code><Message>body-of-sts</Message></Error></ErrorResponse>`, code)
}

// Instance returns the metadata of an EC2 instance with a role, which answers to session tokens only.
func (i *Issuer) Instance(role string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		const roles = "/latest/meta-data/iam/security-credentials/"
		switch {
		case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
			if r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds") == "" {
				http.Error(w, "no TTL", http.StatusBadRequest)
				return
			}
			fmt.Fprint(w, "session-token==")
		case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "session-token==":
			http.Error(w, "body-of-metadata", http.StatusUnauthorized)
		case r.URL.Path == roles:
			fmt.Fprintln(w, role)
		case r.URL.Path == roles+role:
			i.writeMetadata(w)
		default:
			http.NotFound(w, r)
		}
	}
}

// Container returns the agent of containers at a path. It requires an Authorization header; empty requires none.
func (i *Issuer) Container(path, authorization string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RequestURI() != path || r.Header.Get("Authorization") != authorization {
			http.Error(w, "body-of-agent", http.StatusUnauthorized)
			return
		}
		i.writeMetadata(w)
	}
}

func (i *Issuer) writeMetadata(w http.ResponseWriter) {
	k, expires, status, code := i.issue("")
	if status != http.StatusOK {
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(map[string]any{"code": code, "message": "body-of-metadata"})
		return
	}
	json.NewEncoder(w).Encode(map[string]any{"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": k.ID,
		"SecretAccessKey": k.Secret, "Token": k.Token, "Expiration": expires.UTC().Format(time.RFC3339)})
}
