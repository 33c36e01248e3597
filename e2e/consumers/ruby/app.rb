# A reference consumer of the Federated Sign-In Service, on WEBrick: both flows, both providers.
# Sessions and accounts are tables of SQLite, which several processes may share.

require "erb"
require "tmpdir"
require "webrick"
require_relative "broker"

# [settings] From the environment. Secrets travel over https, or within this machine.
def setting(name, kind, initial = "", pattern = /.+/)
  value = ENV.fetch(name, "").empty? ? initial : ENV[name]
  return value if value.match?(/\A(#{pattern})\z/)
  warn "#{name} is #{value.empty? ? 'missing: set it to' : 'not'} #{kind}."
  exit 2
end

ORIGIN = %r{https://[\w.-]+(:\d+)?|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?}
AN_ORIGIN = "an address such as https://signin.example (http only within this machine), without a path"
BROKER = setting("SIGNIN_BASE_URL", AN_ORIGIN, "", ORIGIN)
HERE = setting("CONSUMER_BASE_URL", AN_ORIGIN, "http://localhost:5000", ORIGIN)
PROJECT = %w[client_id client_secret].to_h { |it| [it, setting("SIGNIN_#{it.upcase}", "the project's #{it}")] }
PORT = setting("PORT", "a number", "5000", /\d{1,5}/).to_i
MAX_SESSIONS = setting("MAX_SESSIONS", "a number", "10000", /[1-9]\d{0,6}/).to_i
CALL_SECONDS = setting("CALL_SECONDS", "a number", "5", /[1-9]\d?/).to_i # all calls of a request together
DATABASE = setting("SESSIONS_DB", "a file", File.join(Dir.tmpdir, "ruby-consumer-#{PORT}.db"))
CLOCK = ENV["KIT_CLOCK_URL"] # the clock of tests
IS_SECURE = HERE.start_with?("https:")
LOGIN_SECONDS, SESSION_SECONDS, LOOKS = 600, 8 * 3600, 5
FAILURES = %w[access_denied invalid_provider_response provider_unavailable]
# [/]

require_relative "sessions"

# A request, on the way to its answer.
class Exchange
  include Broker
  include Sessions

  def initialize(request, answer)
    @request, @answer, @path = request, answer, request.path
    @deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + CALL_SECONDS
  end

  # [start] The clean flow: the callback carries nothing; the result is read with a key that stays here.
  def start_clean(provider)
    key = SecureRandom.urlsafe_base64(32) # fresh for each login
    fields = { session_key: key, provider: provider, redirect_uri: "#{HERE}/callback" }
    address = check_start(call("POST", "/v1/login/session", PROJECT.merge(fields)))
    renew_session("clean", "", key, provider, LOOKS, @now + LOGIN_SECONDS)
    redirect(address)
  end

  # [callback]
  def finish_clean
    login = take_login("clean", "")
    return redirect("#{HERE}/") if !login && account
    check(login, "nothing")
    key, provider, looks, ends = login
    result = call("POST", "/v1/login/result", PROJECT.merge(session_key: key, redirect_uri: "#{HERE}/callback"))
    case result.values_at("status", "error")
    in ["succeeded", nil]
      sign_in(result["profile"], provider)
    in ["failed", error] if FAILURES.include?(error)
      raise Problem, error
    in ["pending", nil] # not consumed: the user may look again, a few times
      check(looks > 1, "refused")
      keep_login("clean", "", key, provider, looks - 1, ends)
      raise Problem, "pending"
    else
      raise Problem, "lost"
    end
  end

  # [start_legacy] The legacy flow: state and code come back through the browser, the verifier stays here.
  def start_legacy(provider)
    state, verifier = SecureRandom.urlsafe_base64(32), SecureRandom.urlsafe_base64(32)
    renew_session("legacy", state, verifier, provider, 1, @now + LOGIN_SECONDS)
    query = { client_id: PROJECT["client_id"], redirect_uri: "#{HERE}/legacy/callback", provider: provider,
              state: state, code_challenge: digest(verifier), code_challenge_method: "S256" }
    redirect("#{BROKER}/authorize?#{URI.encode_www_form(query)}")
  end

  # [callback_legacy] It ends in a redirect, always: no page has the code in its address.
  def finish_legacy
    query = URI.decode_www_form(@request.query_string.to_s).group_by(&:first).transform_values { |it| it.map(&:last) }
    state, code, error = query.values_at("state", "code", "error").map(&:to_a)
    check(state.size == 1, "refused")
    # Consumed before anything else is looked at: by success and by failure, once.
    login = take_login("legacy", state[0])
    check(login, "refused")
    verifier, provider = login
    raise Problem, error[0] if code.empty? && error.size == 1 && FAILURES.include?(error[0])
    check(error.empty? && code.size == 1 && code[0].valid_encoding? && code[0].size.between?(1, 200), "refused")
    fields = { grant_type: "authorization_code", code: code[0], code_verifier: verifier }
    token = check_token(call("POST", "/v1/token", PROJECT.merge(fields, redirect_uri: "#{HERE}/legacy/callback")))
    begin
      profile = call("GET", "/v1/profile", token: token)
    ensure # it has had its one use; should this fail, it ends by itself
      revoke(token)
    end
    sign_in(profile, provider)
  rescue ArgumentError # a query that cannot be read
    raise Problem, "refused"
  end

  # [sign_in]
  def sign_in(profile, provider)
    check_profile(profile, provider)
    id, ends = SecureRandom.urlsafe_base64(32), @now + SESSION_SECONDS
    # A new id again: an attacker may know the old one. If it is gone, the user has signed out meanwhile.
    found = row("UPDATE sessions SET id = ?, subject = ?, until = ?, ends = ? WHERE id = ? RETURNING number",
                digest(id), profile["subject"], ends, ends, @id)
    check(found, "nothing")
    # The key is the subject and nothing else: e-mail addresses change hands.
    row("INSERT INTO accounts (subject, profile) VALUES (?, ?) ON CONFLICT (subject)
         DO UPDATE SET profile = excluded.profile, sign_ins = sign_ins + 1", profile["subject"], JSON.generate(profile))
    set_cookie(id, ends)
    redirect("#{HERE}/")
  end

  # [sign_out]
  def sign_out
    row("DELETE FROM sessions WHERE id = ?", @id) # on the server: a copy of the cookie is worth nothing
    set_cookie("", @now)
    redirect("#{HERE}/")
  end

  # [page] Whatever came from elsewhere is escaped by `h`, in page.erb.
  PAGE = ERB.new(File.read(File.join(__dir__, "page.erb"), encoding: "utf-8"), trim_mode: "<>")

  def show(status, problem = nil, user = account)
    number, sign_ins, profile, note = user
    profile = JSON.parse(profile) if user
    @answer.status, @answer.body = status, PAGE.result(binding)
    @answer["Content-Type"] = "text/html; charset=utf-8"
  end

  def h(text) = ERB::Util.html_escape(text)

  def account
    row("SELECT accounts.number, sign_ins, profile, note FROM sessions JOIN accounts USING (subject)
         WHERE id = ? AND until > ?", @id, @now)
  end

  def save_note
    check(@request.content_length.to_i <= 16 * 1024, "refused")
    note = URI.decode_www_form(@request.body.to_s).assoc("note").to_a[1].to_s.scrub[0, 1000]
    row("UPDATE accounts SET note = ? WHERE number = ?", note, account.to_a[0])
    redirect("#{HERE}/")
  end

  # The whole address: WEBrick completes a path by the request's Host, which anyone may set.
  def redirect(address)
    @answer.status = 303
    @answer["Location"] = address
  end

  # [guard] Any page can send a form here, but a browser says from where. HEAD and a prefetch read nothing.
  def refused?
    origin, site = @request["Origin"] || HERE, @request["Sec-Fetch-Site"] || "none"
    is_ours = origin == HERE && %w[same-origin none].include?(site)
    is_prefetch = @request["Sec-Purpose"].to_s.downcase.include?("prefetch")
    is_callback = @path.end_with?("/callback")
    return show(403, "403 Forbidden") if @request.request_method == "POST" && !is_ours
    return @answer.status = 503 if is_callback && is_prefetch
    is_callback && @request.request_method == "HEAD"
  end

  # [error_page]
  PROBLEMS = {
    "access_denied" => [200, "You cancelled the sign-in. Nothing was shared with us."],
    "invalid_provider_response" => [200, "The provider's answer did not prove who you are."],
    "provider_unavailable" => [200, "The provider did not answer. Try again in a moment."],
    "pending" => [200, "The sign-in is not finished. Perhaps it is open in another tab."],
    "nothing" => [400, "No sign-in is under way here. Finish it in the browser in which you start it."],
    "refused" => [400, "The sign-in took too long, was finished before, or began in another browser."],
    "lost" => [400, "The sign-in service did not answer as it should. You were not signed in. Please start again."]
  }

  def serve
    @now = CLOCK ? send_request("GET", CLOCK).last.fetch("now") : Time.now.to_f
    open_session
    route unless refused?
  rescue Problem => problem
    redirect("#{HERE}/problem/#{problem.message}")
  rescue StandardError => error
    warn "A request ended by a #{error.class}" # its own text may quote a secret
    show(500, "500 Internal Server Error", nil)
  end

  # [server]
  def route
    case [@request.request_method, @path]
    in ["POST", "/login/google" | "/login/github"] then start_clean(File.basename(@path))
    in ["GET", "/callback"] then finish_clean
    in ["POST", "/legacy/login/google" | "/legacy/login/github"] then start_legacy(File.basename(@path))
    in ["GET", "/legacy/callback"] then finish_legacy
    in ["POST", "/logout"] then sign_out
    in ["POST", "/note"] then save_note
    in ["GET" | "HEAD", "/"] then show(200)
    else show(*PROBLEMS.fetch(@path.delete_prefix("/problem/"), [404, "404 Not Found"]))
    end
  end

  # [headers] No `form-action`: browsers apply it to the redirects after a form, up to the provider. No
  # `no-referrer`: the broker checks that a login begins on a page of ours.
  HEADERS = {
    "Content-Security-Policy" => "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy" => "strict-origin-when-cross-origin",
    "X-Content-Type-Options" => "nosniff",
    "Cache-Control" => "no-store"
  }
  # [/]
end

class Server < WEBrick::HTTPServer
  def service(request, answer)
    Exchange::HEADERS.each { |name, value| answer[name] = value }
    Exchange.new(request, answer).serve
  end
end

# Its own log has the addresses of requests, and with them codes.
quiet = { AccessLog: [], Logger: WEBrick::Log.new(nil, WEBrick::BasicLog::FATAL), ServerSoftware: "" }
server = Server.new(BindAddress: "localhost", Port: PORT, MaxClients: 500, **quiet) # both of its addresses
%w[INT TERM].each { |signal| trap(signal) { server.shutdown } }
server.start
