package aws

import (
	"context"
	"encoding/xml"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"hatchel/adapters/credential"
	"hatchel/internal/lazyregexp"
)

// sts is the security token service of a region, which gives credentials of roles.
type sts struct {
	cloud  *credential.Cloud
	region string
	signer *signer
}

// partitions are the domains of the partitions, by what the names of their regions begin with.
var partitions = []struct{ prefix, domain string }{
	{"cn-", "amazonaws.com.cn"},
	{"us-isob-", "sc2s.sgov.gov"},
	{"us-isof-", "csp.hci.ic.gov"},
	{"us-iso-", "c2s.ic.gov"},
	{"eu-isoe-", "cloud.adc-e.uk"},
	{"eusc-", "amazonaws.eu"},
	{"", "amazonaws.com"},
}

// sts returns the service of the region that the machine is in, or of that of the connection if it does not know.
func (s *sources) sts() *sts {
	region := s.region
	for _, name := range []string{"AWS_DEFAULT_REGION", "AWS_REGION"} {
		if text := s.getenv(name); namePattern.MatchString(text) {
			region = text
		}
	}
	return &sts{cloud: s.cloud, region: region, signer: newSigner("sts", region)}
}

func (s *sts) address() *url.URL {
	for _, p := range partitions {
		if strings.HasPrefix(s.region, p.prefix) {
			return &url.URL{Scheme: "https", Host: "sts." + s.region + "." + p.domain, Path: "/"}
		}
	}
	return nil // not reached: every name begins with the last prefix
}

// expiredError is the answer of STS to a request that was signed with credentials that have ended.
type expiredError struct{ error }

// errorCodePattern matches the codes of AWS. Other texts of an answer are not repeated.
var errorCodePattern = lazyregexp.New(`^[A-Za-z][A-Za-z.]{0,63}$`)

// errorCode returns a code of an answer if it has the form of one.
func errorCode(text string) string {
	if errorCodePattern.MatchString(text) {
		return text
	}
	return ""
}

// stsAnswer is the answer of STS: one of the credentials, or a code.
type stsAnswer struct {
	Assumed stsCredentials `xml:"AssumeRoleResult>Credentials"`
	Web     stsCredentials `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
	Code    string         `xml:"Error>Code"`
}

type stsCredentials struct {
	AccessKeyID     string `xml:"AccessKeyId"`
	SecretAccessKey string
	SessionToken    string
	Expiration      time.Time
}

// passingCodes are errors after which another request may succeed. STS itself asks the issuer of a web identity for its
// keys.
var passingCodes = []string{"IDPCommunicationError", "Throttling"}

// ask sends a request, which with is signed with; nil for one that is not signed.
func (s *sts) ask(ctx context.Context, with *Credentials, form url.Values) (Credentials, error) {
	form.Set("Version", "2011-06-15")
	body := []byte(form.Encode())
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	u := s.address()
	if with != nil {
		r := request{Method: http.MethodPost, URL: u, Header: header, Hash: hashBody(body)}
		if err := s.signer.sign(ctx, *with, r, time.Now()); err != nil {
			return Credentials{}, err
		}
	}
	q := credential.Question{
		Of: "STS (" + u.Host + ")", Method: http.MethodPost, URL: u.String(), Header: header, Body: body,
		MayPass: func(a credential.Answer) bool {
			var parsed stsAnswer
			return xml.Unmarshal(a.Body, &parsed) == nil && slices.Contains(passingCodes, parsed.Code)
		},
	}
	a, err := s.cloud.Services.Ask(ctx, q)
	if err != nil {
		return Credentials{}, err
	}
	var parsed stsAnswer
	err = xml.Unmarshal(a.Body, &parsed)
	switch {
	case a.Status != http.StatusOK && strings.HasPrefix(parsed.Code, "ExpiredToken"):
		return Credentials{}, expiredError{a.Failure(errorCode(parsed.Code))}
	case a.Status != http.StatusOK:
		return Credentials{}, a.Failure(errorCode(parsed.Code))
	case err != nil:
		return Credentials{}, errors.New(q.Of + " answered no credential")
	}
	got := parsed.Assumed
	if got.AccessKeyID == "" {
		got = parsed.Web
	}
	c := Credentials{
		KeyID: got.AccessKeyID, Secret: got.SecretAccessKey, Token: got.SessionToken, Expires: got.Expiration,
		served: a.Served(),
	}
	return c, c.check(q.Of)
}
