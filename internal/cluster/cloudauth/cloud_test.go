// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cloudauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/aws/smithy-go"
	"github.com/fluxcd/pkg/auth"
	"github.com/fluxcd/pkg/auth/gcp"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// stub is a provider whose answers a test sets.
type stub struct {
	auth.RESTConfigProvider

	// requested are the requested tokens.
	requested []string
	host      string
	fail      func() error
}

func (s *stub) GetAccessTokenOptionsForCluster(...auth.Option) ([][]auth.Option, error) {
	return [][]auth.Option{{auth.WithScopes("one")}, {auth.WithScopes("two")}}, nil
}

func (s *stub) NewControllerToken(_ context.Context, opts ...auth.Option) (auth.Token, error) {
	return s.token("controller", opts)
}

func (s *stub) token(identity string, opts []auth.Option) (auth.Token, error) {
	var o auth.Options
	o.Apply(opts...)
	s.requested = append(s.requested, fmt.Sprintf("%s %v %q %q %q", identity, o.Scopes, o.ClusterResource, o.ClusterAddress, o.CAData))
	return &gcp.Token{Token: oauth2.Token{AccessToken: "hidden-access", Expiry: time.Unix(500, 0)}}, nil
}

func (s *stub) GetIdentity(account corev1.ServiceAccount) (string, error) {
	if account.Annotations["role"] == "" {
		return "", errors.New("no identity")
	}
	return account.Annotations["role"], nil
}

func (s *stub) GetAudiences(context.Context, corev1.ServiceAccount) ([]string, error) {
	return []string{"cloud"}, nil
}

func (s *stub) NewTokenForServiceAccount(_ context.Context, oidc string, account corev1.ServiceAccount, opts ...auth.Option) (auth.Token, error) {
	return s.token(oidc+" of "+account.Name+"="+account.Annotations["role"], opts)
}

func (s *stub) NewRESTConfig(_ context.Context, tokens []auth.Token, _ ...auth.Option) (*auth.RESTConfig, error) {
	if s.fail != nil {
		if err := s.fail(); err != nil {
			return nil, err
		}
	}
	return &auth.RESTConfig{Host: s.host, CAData: []byte("theirs"), BearerToken: fmt.Sprint("hidden-", len(tokens)), ExpiresAt: time.Unix(900, 0)}, nil
}

func requestToken(_ context.Context, account types.NamespacedName, audiences []string) (string, time.Time, error) {
	return fmt.Sprint("token for ", account, " ", audiences), time.Unix(1, 0), nil
}

// TestGet: access is requested as the identity of the Cluster, or rejected before a token is sent.
func TestGet(t *testing.T) {
	t.Parallel()
	tenant := types.NamespacedName{Namespace: "apps", Name: "tenant"}
	whole := Access{Address: "far:6443", CA: []byte("theirs"), Token: "hidden-2", Expires: time.Unix(500, 0)}
	for name, tc := range map[string]struct {
		reason  string
		cluster Cluster
		fail    func() error
		tokens  []string
		want    Access
		wantErr string
	}{
		"Account": {
			reason:  "one ServiceAccount token serves all requests; the earliest expiry counts",
			cluster: Cluster{Resource: "r", Address: "a", CA: "ours", ServiceAccount: tenant, Annotations: map[string]string{"role": "role"}},
			tokens: []string{
				`token for apps/tenant [cloud] of tenant=role [one] "r" "a" "ours"`, `token for apps/tenant [cloud] of tenant=role [two] "r" "a" "ours"`,
			},
			want: whole,
		},
		"Audiences": {
			reason:  "audiences of the Cluster are used",
			cluster: Cluster{Resource: "r", Audiences: []string{"x"}, ServiceAccount: tenant, Annotations: map[string]string{"role": "role"}},
			tokens:  []string{`token for apps/tenant [x] of tenant=role [one] "r" "" ""`, `token for apps/tenant [x] of tenant=role [two] "r" "" ""`},
			want:    whole,
		},
		"NoIdentity": {reason: "no token is requested in vain", cluster: Cluster{ServiceAccount: tenant}, wantErr: "ServiceAccount 'apps/tenant': no identity"},
		"Controller": {
			reason: "the address of the cloud is used", cluster: Cluster{Provider: "gcp", Resource: "r", Address: "https://FAR:6443/x", CA: "ours"},
			tokens: []string{`controller [one] "r" "" ""`, `controller [two] "r" "" ""`},
			want:   Access{Address: "far:6443", CA: []byte("theirs"), Token: "hidden-2", Expires: time.Unix(500, 0)},
		},
		"ControllerAzure": {
			reason: "Azure selects one of several addresses", cluster: Cluster{Provider: "azure", Resource: "r", Address: "far:6443", CA: "ours"},
			tokens: []string{`controller [one] "r" "far:6443" ""`, `controller [two] "r" "far:6443" ""`},
			want:   Access{Address: "far:6443", CA: []byte("theirs"), Token: "hidden-2", Expires: time.Unix(500, 0)},
		},
		"OtherAddress": {
			reason: "the token of the controller is sent to an address of the cloud only", cluster: Cluster{Provider: "gcp", Resource: "r", Address: "evil:6443"},
			tokens: []string{`controller [one] "r" "" ""`, `controller [two] "r" "" ""`}, wantErr: "key 'address' differs from the address in the cloud, far:6443",
		},
		"Refused": {
			reason: "the error of the cloud is kept", cluster: Cluster{},
			fail: func() error { return errors.New("not yours") }, tokens: []string{`controller [one] "" "" ""`, `controller [two] "" "" ""`}, wantErr: "not yours",
		},
		"Incomplete": {
			reason: "a panic of a library is an error", cluster: Cluster{},
			fail: func() error { panic("hidden") }, tokens: []string{`controller [one] "" "" ""`, `controller [two] "" "" ""`}, wantErr: "the answer of the cloud is incomplete",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &stub{host: "far:6443", fail: tc.fail}
			got, err := tc.cluster.get(t.Context(), s, requestToken, &secrets{})
			if diff := cmp.Diff(tc.tokens, s.requested); diff != "" {
				t.Errorf("%s: tokens (-want +got):\n%s", tc.reason, diff)
			}
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) || got.Token != "" {
					t.Errorf("%s: got %v, %v, want %s", tc.reason, got, err, tc.wantErr)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
}

// TestUnknownProvider: the error is an AccessError.
func TestUnknownProvider(t *testing.T) {
	t.Parallel()
	var access *AccessError
	if _, err := Get(t.Context(), Cluster{Provider: "ovh"}, requestToken); !errors.As(err, &access) || access.Cause() != `unknown provider "ovh"` {
		t.Errorf("got %v", err)
	}
}

func respond(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Body: io.NopCloser(strings.NewReader(body)),
		Request: &http.Request{Method: http.MethodPost, URL: &url.URL{Scheme: "https", Host: "login.example.com", Path: "/secret"}},
	}
}

// TestAccessError: errors of each provider become short causes without secrets and request IDs.
func TestAccessError(t *testing.T) {
	t.Parallel()
	const jwt = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln"
	dial := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, Err: errors.New("connection refused")}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		ctx  context.Context
		err  error
		want string
	}{
		"AWS": {err: &smithy.OperationError{ServiceID: "EKS", OperationName: "DescribeCluster", Err: fmt.Errorf("RequestID: 1: %w", &smithy.GenericAPIError{
			Code: "AccessDeniedException", Message: "not you, hunter22hunter22 or hunter22%2Fhunter22",
		})}, want: "EKS DescribeCluster answered AccessDeniedException: not you, [hidden] or [hidden]"},
		"Azure": {
			err:  &azcore.ResponseError{StatusCode: 403, ErrorCode: "AuthorizationFailed", RawResponse: respond(403, `{"error":{"code":"AuthorizationFailed","message":"not\n you"}}`)},
			want: "login.example.com answered 403 AuthorizationFailed: not you",
		},
		"AzureLogin": {
			err:  &azidentity.AuthenticationFailedError{RawResponse: respond(400, `{"error":"invalid_client","error_description":"AADSTS7: no `+jwt+`. Trace ID: 123 Timestamp: now"}`)},
			want: "login.example.com answered 400 invalid_client: AADSTS7: no [hidden]",
		},
		"Google":      {err: &googleapi.Error{Code: 403, Message: "not you", Body: "much more", Errors: []googleapi.ErrorItem{{Reason: "forbidden"}}}, want: "Google answered 403 forbidden: not you"},
		"GoogleLogin": {err: &oauth2.RetrieveError{Response: respond(400, ""), Body: []byte("much more"), ErrorCode: "invalid_grant"}, want: "Google answered 400 invalid_grant"},
		"GoogleText":  {err: fmt.Errorf("oauth2/google: status code 400: {\n%q\n}", jwt), want: `oauth2/google: status code 400: { "[hidden]" }`},
		"Dial": {
			err:  &url.Error{Op: "Post", URL: "https://sts.example.com/?secret=1", Err: dial},
			want: "sts.example.com: dial tcp 127.0.0.1:1: connection refused",
		},
		"Late":     {err: fmt.Errorf("oauth2: Post \"https://sts.example.com/v1?x=y\": %w", context.DeadlineExceeded), want: "sts.example.com: no answer in time"},
		"LateText": {err: errors.New(`Get "https://sts.example.com/v1": net/http: timeout (Client.Timeout exceeded)`), want: "sts.example.com: no answer in time"},
		"LateAWS":  {err: &smithy.OperationError{ServiceID: "EKS", OperationName: "DescribeCluster", Err: context.DeadlineExceeded}, want: "EKS DescribeCluster: no answer in time"},
		"Over":     {ctx: over, err: errors.New("whatever"), want: "no answer in time"},
		"URL":      {err: errors.New("no answer from https://user:pass@host.example.com/path?q=1 today"), want: "no answer from host.example.com today"},
		"Long":     {err: errors.New(strings.Repeat("x", 600)), want: strings.Repeat("x", maxCause-3) + "..."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := tc.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			hidden := &secrets{}
			hidden.add("hunter22hunter22", "hunter22/hunter22", "not")
			if got := accessError(ctx, tc.err, hidden).Error(); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
