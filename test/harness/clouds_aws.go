// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"
)

// The controller's own AWS credentials, in its environment.
const (
	AWSKeyID  = "AKIDCONTROLLERITSELF"
	AWSSecret = "secret-of-the-controller-itself"
)

// EKSCluster and EKSPending are names of EKS clusters; the second one is being created.
const (
	EKSRegion  = "eu-west-1"
	EKSCluster = "arn:aws:eks:eu-west-1:123456789012:cluster/far"
	EKSPending = "arn:aws:eks:eu-west-1:123456789012:cluster/pending"
	EKSRole    = "arn:aws:iam::123456789012:role/tenant"
)

func (c *Clouds) serveAWS(w http.ResponseWriter, r *http.Request, trouble int) {
	service, _, _ := strings.Cut(r.Host, ".")
	switch {
	case service == "sts" && trouble != 0:
		w.WriteHeader(trouble)
		_, _ = fmt.Fprintf(w, `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not for %s</Message></Error><RequestId>%s</RequestId></ErrorResponse>`,
			r.FormValue("WebIdentityToken"), rand.Text())
	case service == "sts":
		c.assumeRole(w, r)
	case service == "eks" && trouble != 0:
		w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
		w.Header().Set("X-Amzn-Requestid", rand.Text())
		reply(w, trouble, map[string]any{"message": "not you"})
	case service == "eks":
		c.describeEKS(w, r)
	default:
		http.Error(w, "no such service", http.StatusNotFound)
	}
}

func (c *Clouds) assumeRole(w http.ResponseWriter, r *http.Request) {
	token := r.FormValue("WebIdentityToken")
	if err := isFor(token, "sts.amazonaws.com"); err != nil || r.FormValue("RoleArn") != EKSRole {
		http.Error(w, fmt.Sprintf("role %s: %v", r.FormValue("RoleArn"), err), http.StatusForbidden)
		return
	}
	id, session := "AKID"+rand.Text()[:12], rand.Text()
	c.secret(token, session, secretAccessKey(id))
	w.Header().Set("Content-Type", "text/xml")
	_, _ = fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>`+
		`<AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration>`+
		`</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
		id, secretAccessKey(id), session, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
}

// secretAccessKey returns the secret key for a key ID.
func secretAccessKey(id string) string {
	if id == AWSKeyID {
		return AWSSecret
	}
	sum := sha256.Sum256([]byte("of " + id))
	return hex.EncodeToString(sum[:])
}

func (c *Clouds) describeEKS(w http.ResponseWriter, r *http.Request) {
	switch name := strings.TrimPrefix(r.URL.Path, "/clusters/"); name {
	case "far":
		reply(w, http.StatusOK, map[string]any{"cluster": map[string]any{
			"name": name, "endpoint": c.front.address, "certificateAuthority": map[string]any{"data": base64.StdEncoding.EncodeToString(c.ca.pem)},
		}})
	case "pending":
		reply(w, http.StatusOK, map[string]any{"cluster": map[string]any{"name": name, "status": "CREATING"}})
	default:
		w.Header().Set("X-Amzn-Errortype", "ResourceNotFoundException")
		reply(w, http.StatusNotFound, map[string]any{"message": "No cluster found for name: " + name + "."})
	}
}

// front is the API server of an EKS cluster. It verifies tokens by STS, and forwards the requests.
type front struct {
	address string
	server  *http.Server
}

func startFront(ctx context.Context, c *Clouds) (*front, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	cert, err := c.ca.certify("127.0.0.1")
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	behind, err := url.Parse(c.Cluster.Address)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.Cluster.CA)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(behind)
			r.Out.Header.Set("Authorization", "Bearer "+c.Cluster.Token)
		},
		FlushInterval: -1,
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}},
	}
	f := &front{address: "https://" + listener.Addr().String()}
	f.server = &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			c.secretOnce(token)
			if err := callerOf(token, "far"); err != nil {
				reply(w, http.StatusUnauthorized, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 401, "reason": "Unauthorized", "message": err.Error()})
				return
			}
			proxy.ServeHTTP(w, r)
		}),
	}
	go func() { _ = f.server.ServeTLS(listener, "", "") }()
	return f, nil
}

func (c *Clouds) secretOnce(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text != "" && c.secrets[len(c.secrets)-1] != text {
		c.secrets = append(c.secrets, text)
	}
}

// callerOf verifies the signed request in a token as STS does: its caller, and the cluster that it
// is for.
func callerOf(token, cluster string) error {
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, "k8s-aws-v1."))
	if err != nil || !strings.HasPrefix(token, "k8s-aws-v1.") {
		return errors.New("that is no token of EKS")
	}
	u, err := url.Parse(string(raw))
	if err != nil {
		return errors.New("the token is no request")
	}
	query := u.Query()
	signature := query.Get("X-Amz-Signature")
	query.Del("X-Amz-Signature")
	credential := strings.Split(query.Get("X-Amz-Credential"), "/")
	if len(credential) != 5 || u.Host != "sts."+EKSRegion+".amazonaws.com" || query.Get("Action") != "GetCallerIdentity" || query.Get("X-Amz-Expires") != "900" {
		return errors.New("the token is another request")
	}
	names := strings.Split(query.Get("X-Amz-SignedHeaders"), ";")
	headers := map[string]string{"host": u.Host, "x-k8s-aws-id": cluster}
	canonical := "GET\n/\n" + strings.ReplaceAll(query.Encode(), "+", "%20") + "\n"
	for _, name := range names {
		canonical += name + ":" + headers[name] + "\n"
	}
	canonical += "\n" + strings.Join(names, ";") + "\n" + hexOf(sha256.Sum256(nil))
	if len(names) != len(headers) {
		return fmt.Errorf("signed is %v", names)
	}
	scope := strings.Join(credential[1:], "/")
	text := "AWS4-HMAC-SHA256\n" + query.Get("X-Amz-Date") + "\n" + scope + "\n" + hexOf(sha256.Sum256([]byte(canonical)))
	key := []byte("AWS4" + secretAccessKey(credential[0]))
	for _, part := range credential[1:] {
		key = mac(key, part)
	}
	if hex.EncodeToString(mac(key, text)) != signature {
		return errors.New("the signature does not match the key ID")
	}
	return nil
}

func hexOf(sum [sha256.Size]byte) string { return hex.EncodeToString(sum[:]) }

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
