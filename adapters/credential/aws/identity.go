// Package aws signs requests to services of AWS, and finds the credentials for that: in the environment, by the token
// of a Kubernetes cluster, from the agent of a container, or from the metadata of an instance. It reads no profiles
// and runs no programs.
package aws

import (
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/internal/lazyregexp"
)

// Credentials are what requests are signed with. Token is empty for those that do not end.
type Credentials struct {
	KeyID, Secret, Token string
	Source               string    // one of the values of the argument source
	Expires              time.Time // zero for those that do not end

	served time.Time // when they were given, by the clock of what gave them
}

// Identity is as whom requests are signed: the arguments that all blocks about AWS have.
type Identity struct {
	Region      string
	RoleARN     string
	ExternalID  string
	SessionName string
	Source      string
}

// The values of the argument source, in the order in which they are tried.
const (
	sourceEnv         = "env"
	sourceWebIdentity = "web_identity"
	sourceContainer   = "container"
	sourceInstance    = "instance"
)

const defaultSessionName = "hatchel"

// Spec declares the arguments.
func (i *Identity) Spec() hcl.Spec {
	i.SessionName = defaultSessionName
	return hcl.Spec{
		hcl.Attr(&i.Region, "region", `The region of the service, such as "eu-central-1".`).Require(),
		hcl.Attr(&i.RoleARN, "role_arn", "A role that is assumed (AssumeRole), such as "+
			`"arn:aws:iam::123456789012:role/reader".`).
			Check(func(d *decode.Decoder, r diag.Range) { refuseEmpty(d, r, i.RoleARN) }),
		hcl.Attr(&i.ExternalID, "external_id", "The external id that the trust policy of role_arn requires.").
			Check(func(d *decode.Decoder, r diag.Range) { refuseEmpty(d, r, i.ExternalID) }),
		hcl.Attr(&i.SessionName, "session_name", "The name of the session of role_arn, which CloudTrail records.").
			DefaultDoc(`"` + defaultSessionName + `"`),
		hcl.Choice(&i.Source, "source", "Where credentials come from: \"env\" is AWS_ACCESS_KEY_ID, \"web_identity\" "+
			"is AWS_WEB_IDENTITY_TOKEN_FILE, \"container\" is the agent of ECS or EKS, \"instance\" is the metadata "+
			"of EC2 (IMDSv2).", sourceEnv, sourceWebIdentity, sourceContainer, sourceInstance).
			DefaultDoc("the first one that is configured, in this order").
			Hint(" Keys and profiles are not written here: credentials come from a source, such as "+envKeyID+
				" of the server's environment.", "access_key", "access_key_id", "secret_key", "secret_access_key",
				"session_token", "profile"),
	}
}

// refuseEmpty reports an empty text, with which requests would be signed as the machine itself, or without the text.
func refuseEmpty(d *decode.Decoder, r diag.Range, text string) {
	if text == "" {
		d.Diags.Errorf(r, "Empty text", "The argument is empty. Write a non-empty string, or remove it.")
	}
}

var (
	namePattern        = lazyregexp.New(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	rolePattern        = lazyregexp.New(`^arn:aws[a-z-]*:iam::\d{12}:role/[\x21-\x7e]{1,512}$`)
	sessionNamePattern = lazyregexp.New(`^[\w+=,.@-]{2,64}$`)
	externalIDPattern  = lazyregexp.New(`^[\w+=,.@:/-]{2,}$`)
)

// Check reports arguments that no service accepts.
func (i *Identity) Check(checks *adapters.Checks) {
	checks.Refuse(!namePattern.MatchString(i.Region), &i.Region,
		`region must be the name of a region, such as "eu-central-1".`)
	checks.Refuse(i.RoleARN != "" && !rolePattern.MatchString(i.RoleARN), &i.RoleARN,
		`role_arn must be the ARN of a role, such as "arn:aws:iam::123456789012:role/reader".`)
	checks.Refuse(!sessionNamePattern.MatchString(i.SessionName), &i.SessionName,
		"session_name must have 2 to 64 characters: letters, digits and _ + = , . @ -.")
	checks.Refuse(i.RoleARN == "" && i.SessionName != defaultSessionName, &i.SessionName,
		"session_name is the name of a session of role_arn, which is not set.")
	if i.ExternalID != "" {
		checks.Refuse(len(i.ExternalID) > 1224 || !externalIDPattern.MatchString(i.ExternalID),
			&i.ExternalID,
			"external_id must have 2 to 1224 characters: letters, digits and _ + = , . @ : / -.")
		checks.Refuse(i.RoleARN == "", &i.ExternalID, "external_id belongs to role_arn, which is not set.")
	}
}

// describe returns as whom requests are signed, in parentheses after a space; empty if the configuration does not say.
func (i *Identity) describe() string {
	switch {
	case i.RoleARN != "":
		return " (" + i.RoleARN[strings.LastIndexByte(i.RoleARN, '/')+1:] + ")"
	case i.Source != "":
		return " (" + i.Source + ")"
	}
	return ""
}

// SigV4 is an aws_sigv4 block: requests are signed with Signature Version 4.
type SigV4 struct {
	Service string
	Identity
}

// Spec declares the arguments of the block.
func (s *SigV4) Spec() hcl.Spec {
	return hcl.Join(hcl.Spec{
		hcl.Attr(&s.Service, "service", `The name of the service in signatures, such as "s3", "execute-api" or "es".`).
			Require(),
	}, s.Identity.Spec())
}

// Check reports arguments that no service accepts.
func (s *SigV4) Check(checks *adapters.Checks) {
	checks.Refuse(!namePattern.MatchString(s.Service), &s.Service,
		`service must be the name of a service in signatures, such as "s3" or "execute-api".`)
	s.Identity.Check(checks)
}

// String describes the signature, for people.
func (s *SigV4) String() string {
	return "AWS signature of " + s.Service + " in " + s.Region + s.describe()
}

// RDS is an aws_rds block: passwords of databases are tokens of IAM.
type RDS struct{ Identity }

// String describes the passwords, for people.
func (r *RDS) String() string { return "AWS token of rds-db in " + r.Region + r.describe() }
