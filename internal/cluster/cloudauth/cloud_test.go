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

// stub is a provider that answers what a test wants.
type stub struct {
	auth.RESTConfigProvider

	// asked is what was asked for.
	asked []string
	host  string
	fail  func()
}

func (s *stub) GetAccessTokenOptionsForCluster(...auth.Option) ([][]auth.Option, error) {
	return [][]auth.Option{{auth.WithScopes("one")}, {auth.WithScopes("two")}}, nil
}

func (s *stub) NewControllerToken(_ context.Context, opts ...auth.Option) (auth.Token, error) {
	return s.token("itself", opts)
}

func (s *stub) token(who string, opts []auth.Option) (auth.Token, error) {
	var o auth.Options
	o.Apply(opts...)
	s.asked = append(s.asked, fmt.Sprintf("%s %v %q %q %q", who, o.Scopes, o.ClusterResource, o.ClusterAddress, o.CAData))
	return &gcp.Token{Token: oauth2.Token{AccessToken: "hidden-access", Expiry: time.Unix(500, 0)}}, nil
}

func (s *stub) GetIdentity(account corev1.ServiceAccount) (string, error) {
	if account.Annotations["who"] == "" {
		return "", errors.New("nobody knows who that is")
	}
	return account.Annotations["who"], nil
}

func (s *stub) GetAudiences(context.Context, corev1.ServiceAccount) ([]string, error) {
	return []string{"cloud"}, nil
}

func (s *stub) NewTokenForServiceAccount(_ context.Context, oidc string, account corev1.ServiceAccount, opts ...auth.Option) (auth.Token, error) {
	return s.token(oidc+" of "+account.Name+"="+account.Annotations["who"], opts)
}

func (s *stub) NewRESTConfig(_ context.Context, tokens []auth.Token, _ ...auth.Option) (*auth.RESTConfig, error) {
	if s.fail != nil {
		s.fail()
	}
	return &auth.RESTConfig{Host: s.host, CAData: []byte("theirs"), BearerToken: fmt.Sprint("hidden-", len(tokens)), ExpiresAt: time.Unix(900, 0)}, nil
}

func mint(_ context.Context, account types.NamespacedName, audiences []string) (string, time.Time, error) {
	return fmt.Sprint("token for ", account, " ", audiences), time.Unix(1, 0), nil
}

func TestGet(t *testing.T) {
	t.Parallel()
	tenant := types.NamespacedName{Namespace: "apps", Name: "tenant"}
	whole := Access{Address: "far:6443", CA: []byte("theirs"), Token: "hidden-2", Expires: time.Unix(500, 0)}
	for name, tc := range map[string]struct {
		reason  string
		cluster Cluster
		fail    func()
		asked   []string
		want    Access
		wantErr string
	}{
		"Account": {
			reason:  "who is named asks, once for all tokens; the earliest end counts",
			cluster: Cluster{Resource: "r", Address: "a", CA: "ours", ServiceAccount: tenant, Annotations: map[string]string{"who": "role"}},
			asked: []string{
				`token for apps/tenant [cloud] of tenant=role [one] "r" "a" "ours"`, `token for apps/tenant [cloud] of tenant=role [two] "r" "a" "ours"`,
			},
			want: whole,
		},
		"Audiences": {
			reason:  "they are taken",
			cluster: Cluster{Resource: "r", Audiences: []string{"x"}, ServiceAccount: tenant, Annotations: map[string]string{"who": "role"}},
			asked:   []string{`token for apps/tenant [x] of tenant=role [one] "r" "" ""`, `token for apps/tenant [x] of tenant=role [two] "r" "" ""`},
			want:    whole,
		},
		"Nobody": {reason: "no token is asked for in vain", cluster: Cluster{ServiceAccount: tenant}, wantErr: "ServiceAccount 'apps/tenant': nobody knows"},
		"Itself": {
			reason: "the cloud says where the cluster is, whatever else is said", cluster: Cluster{Provider: "gcp", Resource: "r", Address: "https://FAR:6443/x", CA: "ours"},
			asked: []string{`itself [one] "r" "" ""`, `itself [two] "r" "" ""`},
			want:  Access{Address: "far:6443", CA: []byte("ours"), Token: "hidden-2", Expires: time.Unix(500, 0)},
		},
		"ItselfAzure": {
			reason: "the cloud chooses among several", cluster: Cluster{Provider: "azure", Resource: "r", Address: "far:6443", CA: "ours"},
			asked: []string{`itself [one] "r" "far:6443" ""`, `itself [two] "r" "far:6443" ""`},
			want:  Access{Address: "far:6443", CA: []byte("ours"), Token: "hidden-2", Expires: time.Unix(500, 0)},
		},
		"Astray": {
			reason: "the controller's own token is not sent to whom the cloud does not know", cluster: Cluster{Provider: "gcp", Resource: "r", Address: "evil:6443"},
			asked: []string{`itself [one] "r" "" ""`, `itself [two] "r" "" ""`}, wantErr: "key 'address' is not where the cloud says that the cluster is, far:6443",
		},
		"Incomplete": {
			reason: "a cluster that is being made is no reason to end", cluster: Cluster{},
			fail: func() { panic("hidden") }, asked: []string{`itself [one] "" "" ""`, `itself [two] "" "" ""`}, wantErr: "the cloud's answer lacks something",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &stub{host: "far:6443", fail: tc.fail}
			got, err := tc.cluster.get(t.Context(), s, mint, &secrets{})
			if diff := cmp.Diff(tc.asked, s.asked); diff != "" {
				t.Errorf("%s: asked (-want +got):\n%s", tc.reason, diff)
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

func TestGetNothing(t *testing.T) {
	t.Parallel()
	var told *AccessError
	if _, err := Get(t.Context(), Cluster{Provider: "ovh"}, mint); !errors.As(err, &told) || told.Cause() != `there is no provider "ovh"` {
		t.Errorf("got %v", err)
	}
}

func respond(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Body: io.NopCloser(strings.NewReader(body)),
		Request: &http.Request{Method: http.MethodPost, URL: &url.URL{Scheme: "https", Host: "login.example.com", Path: "/secret"}},
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	const jwt = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln"
	dial := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, Err: errors.New("connection refused")}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		ctx  context.Context //nolint:containedctx // it is a test's
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
		"Long":     {err: errors.New(strings.Repeat("x", 600)), want: strings.Repeat("x", maxCause) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := tc.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			hidden := &secrets{}
			hidden.add("hunter22hunter22", "hunter22/hunter22", "not")
			if got := refused(ctx, tc.err, hidden).Error(); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
