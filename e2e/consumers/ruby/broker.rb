# The calls to the broker: each is sent once, within its time, and its answer is checked.

require "json"
require "net/http"
require "timeout"

# Ends a request with the page of this name.
class Problem < StandardError; end

module Broker
  MAX_ANSWER_BYTES = 64 * 1024

  def check(is_so, problem = "lost")
    raise Problem, problem unless is_so
  end

  # [call] The JSON of a successful answer. The problem is "refused", or "lost" when it is unknown what the
  # broker did: then nothing is sent again, and the user starts again.
  def call(method, path, body = nil, token: nil)
    begin
      status, answer = send_request(method, BROKER + path, body, token)
      JSON.generate(answer) # text that no page can hold is refused
    rescue StandardError => error # its own text may quote a secret
      warn "No answer of #{path}: #{error.class}"
      raise Problem, "lost"
    end
    check(answer.is_a?(Hash))
    check(!(status.between?(400, 499) && answer["error"].is_a?(String)), "refused")
    check(status == 200) # a proxy in between answers by itself, too
    answer
  end

  # [revoke] Should this fail, the token ends by itself.
  def revoke(token)
    call("POST", "/v1/revoke", token: token)
  rescue Problem
    nil
  end

  # [check_start] The address is of the broker's origin, without query, fragment or credentials: users are
  # sent nowhere else. From \A to \z: `^` and `$` are those of any line.
  def check_start(answer)
    address = answer["authorization_url"]
    check(address.is_a?(String) && address.match?(%r{\A#{Regexp.escape(BROKER)}/[\w./~%-]{1,1900}\z}))
    check(answer["expires_in"] == 600)
    address
  end

  # [check_token]
  def check_token(answer)
    token = answer["access_token"]
    check(token.is_a?(String) && token.match?(/\A[\w-]+_[\w-]{43}\z/))
    check(answer.values_at("token_type", "expires_in", "scope") == ["Bearer", 900, "profile"])
    token
  end

  # [check_profile] Names and addresses may be null, but are there; the rest is never null. By type: `to_s`
  # makes a text of anything, and the text "false" is true.
  def check_profile(profile, provider)
    check(profile.is_a?(Hash) && profile["provider"] == provider)
    check(%w[subject providerSubject].all? { |it| profile[it].is_a?(String) && !profile[it].empty? })
    check(%w[name username email avatarUrl].all? { |it| profile.key?(it) && [String, NilClass].include?(profile[it].class) })
    check([true, false].include?(profile["emailVerified"]))
  end

  # [send] One time limit for everything, up to the last byte of a server that drips. Net::HTTP follows no
  # redirect, which would carry the secrets on; but a GET it would send again by itself.
  def send_request(method, address, body = nil, token = nil)
    uri = URI(address)
    http = Net::HTTP.new(uri.host, uri.port, nil)
    http.use_ssl = uri.scheme == "https"
    http.max_retries = 0
    headers = { "Accept" => "application/json", "Accept-Encoding" => "identity", "Content-Type" => "application/json" }
    headers["Authorization"] = "Bearer #{token}" if token
    request = Net::HTTPGenericRequest.new(method, true, true, uri.request_uri, headers)
    request.body = body ? JSON.generate(body) : "" if method == "POST"
    left = @deadline - Process.clock_gettime(Process::CLOCK_MONOTONIC)
    Timeout.timeout([left, 0.001].max) do # 0 would be no limit at all
      http.start do
        http.request(request) { |answer| return [answer.code.to_i, read(answer)] }
      end
    end
  end

  def read(answer)
    content = +""
    answer.read_body do |piece|
      content << piece
      check(content.bytesize <= MAX_ANSWER_BYTES)
    end
    check(answer["Content-Type"].to_s.split(";").first.to_s.strip.downcase == "application/json")
    JSON.parse(content.force_encoding("utf-8"))
  end
  # [/]
end
